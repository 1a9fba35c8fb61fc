# What every target of the project is compiled and linked with.
add_library(isa_audit_options INTERFACE)
target_compile_options(isa_audit_options INTERFACE -Wall -Wextra -Werror -ffunction-sections -fdata-sections)
# libstdc++ 12 implements std::stable_sort by a function it marks as deprecated, which clang tells at every use.
target_compile_options(isa_audit_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
target_include_directories(isa_audit_options INTERFACE "${PROJECT_SOURCE_DIR}/include")
target_compile_definitions(isa_audit_options INTERFACE ISA_AUDIT_VERSION="${PROJECT_VERSION}")

if(ISA_AUDIT_SANITIZE)
  target_compile_options(isa_audit_options INTERFACE -fsanitize=${ISA_AUDIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(isa_audit_options INTERFACE -fsanitize=${ISA_AUDIT_SANITIZE})
  # The checks GCC inserts hide from its own flow analysis what is initialised: warnings in the headers of libstdc++ and GoogleTest.
  target_compile_options(isa_audit_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
if(ISA_AUDIT_FUZZ)
  target_compile_options(isa_audit_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# isa_audit_precompile(TARGET OWNER HEADER...): TARGET reads the HEADERs precompiled, once for all targets of OWNER. Only where
# asked for: without, each file proves that it includes what it uses.
function(isa_audit_precompile target owner)
  if(NOT ISA_AUDIT_PCH)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# isa_audit_room(NAME [LIBRARY...]): the library of lib/NAME, all of its sources, with what it may use.
function(isa_audit_room name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/${name}/*.cpp" "${PROJECT_SOURCE_DIR}/include/isa-audit/${name}/*.h")
  add_library(isa_audit_${name} STATIC ${sources})
  set_target_properties(isa_audit_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(isa_audit_${name} PUBLIC isa_audit_options ${ARGN})
  isa_audit_precompile(isa_audit_${name} isa_audit_base <algorithm> <map> <optional> <set> <string> <vector> <llvm/Support/Error.h>
                       <llvm/ADT/StringExtras.h> <llvm/Support/FormatVariadic.h>)
endfunction()

# Every library the project uses, each with the Debian package that brings it. Headers are SYSTEM includes: the warnings of
# other projects are not ours to fix.

# require_package(VARIABLE PACKAGE): stops with the name of the Debian package when VARIABLE is not set.
function(isa_audit_require variable package)
  if(NOT ${variable})
    message(FATAL_ERROR "isa-audit needs ${package}: apt-get install ${package}")
  endif()
endfunction()

# isa_audit_import(NAME HEADER ARCHIVE PACKAGE): target NAME for a C library of which the static archive is wanted.
function(isa_audit_import name header archive package)
  find_path(${name}_include NAMES ${header})
  find_library(${name}_archive NAMES ${archive})
  isa_audit_require(${name}_include ${package})
  isa_audit_require(${name}_archive ${package})
  add_library(isa_audit_${name} INTERFACE)
  target_include_directories(isa_audit_${name} SYSTEM INTERFACE "${${name}_include}")
  target_link_libraries(isa_audit_${name} INTERFACE "${${name}_archive}")
endfunction()

# Debian has LLVM 22 in bookworm-security; its config accepts a version only with the minor number.
find_package(LLVM 22.1 CONFIG QUIET HINTS /usr/lib/llvm-22)
isa_audit_require(LLVM_FOUND "llvm-22-dev (LLVM 22.1)")
add_library(isa_audit_llvm INTERFACE)
target_include_directories(isa_audit_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(isa_audit_llvm INTERFACE ISA_AUDIT_LLVM_VERSION="${LLVM_PACKAGE_VERSION}")

isa_audit_import(zlib zlib.h libz.a zlib1g-dev)
isa_audit_import(zstd zstd.h libzstd.a libzstd-dev)
isa_audit_import(lzma lzma.h liblzma.a liblzma-dev)
isa_audit_import(sqlite sqlite3.h libsqlite3.a libsqlite3-dev)
target_link_libraries(isa_audit_sqlite INTERFACE m ${CMAKE_DL_LIBS})
isa_audit_import(deflate libdeflate.h libdeflate.a libdeflate-dev)
isa_audit_import(minizip minizip/unzip.h libminizip.a libminizip-dev)
target_link_libraries(isa_audit_minizip INTERFACE isa_audit_zlib)

# LLVMSupport's own link interface names shared objects of libz3 and libxml2, which nothing here needs.
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "LLVMDemangle;isa_audit_zstd;isa_audit_zlib;rt;dl;m")
llvm_map_components_to_libnames(isa_audit_llvm_libs object mc x86desc x86disassembler x86info amdgpudesc amdgpudisassembler
                                amdgpuinfo targetparser binaryformat demangle support)
target_link_libraries(isa_audit_llvm INTERFACE ${isa_audit_llvm_libs} isa_audit_zstd isa_audit_zlib)

find_package(Threads REQUIRED)
target_link_libraries(isa_audit_llvm INTERFACE Threads::Threads)

# Debian has no static libfmt: header-only.
find_path(fmt_include NAMES fmt/format.h)
isa_audit_require(fmt_include libfmt-dev)
add_library(isa_audit_fmt INTERFACE)
target_include_directories(isa_audit_fmt SYSTEM INTERFACE "${fmt_include}")
target_compile_definitions(isa_audit_fmt INTERFACE FMT_HEADER_ONLY)

find_path(nlohmann_include NAMES nlohmann/json.hpp)
isa_audit_require(nlohmann_include nlohmann-json3-dev)
add_library(isa_audit_json INTERFACE)
target_include_directories(isa_audit_json SYSTEM INTERFACE "${nlohmann_include}")

find_path(cli11_include NAMES CLI/CLI.hpp)
isa_audit_require(cli11_include libcli11-dev)
add_library(isa_audit_cli11 INTERFACE)
target_include_directories(isa_audit_cli11 SYSTEM INTERFACE "${cli11_include}")

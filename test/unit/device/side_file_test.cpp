#include "isa-audit/device/side_file.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <zlib.h>

#include <memory>

#include "support/device_builder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

std::string described(std::string_view path, std::string_view above = "") {
  auto file = recognise_side_file(path, above);
  if (!file) return "none";
  std::string out =
      std::string(side_library_name(file->library)) + " " + file->folder + " " + std::to_string(static_cast<int>(file->part));
  for (const std::string &target : file->targets) out += " " + target;
  return file->detail.empty() ? out : out + " (" + file->detail + ")";
}

std::string with_part(const std::string &text, SidePart part, const std::string &rest = "") {
  return text + " " + std::to_string(static_cast<int>(part)) + rest;
}

TEST(SideFile, TensileNamesTheIndexTheKernelsAndTheRest) {
  const std::string folder = "rocblas torch/lib/rocblas/library";
  auto in = [](const std::string &name) { return described("torch/lib/rocblas/library/" + name); };
  EXPECT_EQ(in("TensileLibrary_lazy_gfx942.dat"), with_part(folder, SidePart::index, " gfx942"));
  EXPECT_EQ(in("TensileLibrary_gfx906.yaml"), with_part(folder, SidePart::index, " gfx906"));
  EXPECT_EQ(in("TensileLibrary.dat"), with_part(folder, SidePart::index));
  EXPECT_EQ(in("TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback.dat"), with_part(folder, SidePart::table));
  EXPECT_EQ(in("TensileLibrary_Type_HH_x_gfx90a.co"), with_part(folder, SidePart::kernels, " gfx90a"));
  EXPECT_EQ(in("Kernels.so-000-gfx90a-xnack-.hsaco"), with_part(folder, SidePart::kernels, " gfx90a:xnack-"));
  EXPECT_EQ(in("Kernels.so-000-gfx906-sramecc+-xnack+.hsaco"), with_part(folder, SidePart::kernels, " gfx906:sramecc+:xnack+"));
  EXPECT_EQ(in("x_gfx9-4-generic.co"), with_part(folder, SidePart::kernels, " gfx9-4-generic"));
  EXPECT_EQ(in("TensileManifest.txt"), with_part(folder, SidePart::other));
}

TEST(SideFile, LayoutsOfOtherPackagers) {
  EXPECT_EQ(described("lib/hipblaslt/library/gfx1151/TensileLibrary_lazy_gfx1151.dat.zlib"),
            with_part("hipblaslt lib/hipblaslt/library", SidePart::index, " gfx1151"));
  EXPECT_EQ(described("usr/lib/x86_64-linux-gnu/rocblas/5.1.0/library/TensileLibrary_lazy_gfx942.dat"),
            with_part("rocblas usr/lib/x86_64-linux-gnu/rocblas/5.1.0/library", SidePart::index, " gfx942"));
  EXPECT_EQ(described("dist/a.whl!bin/hipsparselt/library/extop_gfx950.co"),
            with_part("hipsparselt dist/a.whl!bin/hipsparselt/library", SidePart::kernels, " gfx950"));
  EXPECT_EQ(described("TensileLibrary_lazy_gfx942.dat"), "none");
  EXPECT_EQ(described("TensileLibrary_lazy_gfx942.dat", "opt/rocm/lib/rocblas/library"),
            with_part("rocblas .", SidePart::index, " gfx942"));
  EXPECT_EQ(described("library/TensileLibrary_lazy_gfx942.dat", "rocm/lib/rocblas"),
            with_part("rocblas library", SidePart::index, " gfx942"));
  EXPECT_EQ(described("site-packages/mylib/library/a.co"), "none");
}

TEST(SideFile, MiopenCountsComputeUnitsInHexadecimal) {
  auto in = [](const std::string &name) { return described("share/miopen/db/" + name); };
  const std::string folder = with_part("miopen share/miopen/db", SidePart::database);
  EXPECT_EQ(in("gfx942130.db.txt"), folder + " gfx942 (304 CUs)");
  EXPECT_EQ(in("gfx90878.HIP.fdb.txt"), with_part("miopen share/miopen/db", SidePart::database, " gfx908 (120 CUs)"));
  EXPECT_EQ(in("gfx90a68.kdb"), folder + " gfx90a (104 CUs)");
  EXPECT_EQ(in("gfx90a6e.kdb"), folder + " gfx90a (110 CUs)");
  EXPECT_EQ(in("gfx906_60.kdb"), folder + " gfx906 (60 CUs)");
  EXPECT_EQ(in("gfx1030_36.db.txt"), folder + " gfx1030 (36 CUs)");
  EXPECT_EQ(in("gfx90a.kdb"), folder + " gfx90a");
  EXPECT_EQ(in("gfx908_ConvAsm1x1U_decoder.ktn.model"), folder + " gfx908");
  EXPECT_EQ(in("miopen.db"), folder);
}

TEST(SideFile, TheOtherLibraries) {
  EXPECT_EQ(described("lib/rocfft/rocfft_kernel_cache_gfx950.db"),
            with_part("rocfft lib/rocfft", SidePart::database, " gfx950"));
  EXPECT_EQ(described("rocfft_kernel_cache.db"), with_part("rocfft .", SidePart::database));
  EXPECT_EQ(described("torch/lib/aotriton.images/amd-gfx11xx/flash/attn_fwd.zip!a___gfx1100.aks2"),
            with_part("aotriton torch/lib/aotriton.images", SidePart::kernels, " gfx11xx"));
  EXPECT_EQ(described("torch/lib/aotriton.images/amd-gfx942/__signature__"),
            with_part("aotriton torch/lib/aotriton.images", SidePart::signature, " gfx942"));
  EXPECT_EQ(described("aiter_meta/hsa/gfx942/pa/pa_asm.csv"), with_part("aiter aiter_meta/hsa", SidePart::table, " gfx942"));
  EXPECT_EQ(described("aiter_meta/hsa/gfx950/fmoe/silu/x.co"), with_part("aiter aiter_meta/hsa", SidePart::kernels, " gfx950"));
  EXPECT_EQ(described("amdgcn/bitcode/oclc_isa_version_90a.bc"),
            with_part("device-libs amdgcn/bitcode", SidePart::bitcode, " gfx90a"));
  EXPECT_EQ(described("amdgcn/bitcode/oclc_isa_version_9-4-generic.bc"),
            with_part("device-libs amdgcn/bitcode", SidePart::bitcode, " gfx9-4-generic"));
  EXPECT_EQ(described("amdgcn/bitcode/ocml.bc"), with_part("device-libs amdgcn/bitcode", SidePart::other));
}

TEST(SideFile, FamiliesAndGenericsNameProcessors) {
  EXPECT_TRUE(names_processor("gfx942", "gfx942"));
  EXPECT_TRUE(names_processor("gfx90a:xnack-", "gfx90a"));
  EXPECT_TRUE(names_processor("gfx11xx", "gfx1151"));
  EXPECT_TRUE(names_processor("gfx110x", "gfx1103"));
  EXPECT_TRUE(names_processor("gfx94X", "gfx942"));
  EXPECT_TRUE(names_processor("gfx11-generic", "gfx1102"));
  EXPECT_FALSE(names_processor("gfx110x", "gfx1151"));
  EXPECT_FALSE(names_processor("gfx11xx", "gfx1201"));
  EXPECT_FALSE(names_processor("gfx9-generic", "gfx942"));
  EXPECT_FALSE(names_processor("gfx1100", "gfx1101"));
  EXPECT_FALSE(names_processor("gfxx", "gfx942"));
}

SideFile read(std::string_view path, const std::string &content, Problems &problems) {
  SideFile file = recognise_side_file(path).value();
  file.origin.path = path;
  read_side_file(Bytes::borrowed({reinterpret_cast<const uint8_t *>(content.data()), content.size()}), file, problems);
  return file;
}

std::string pack_text(const std::string &text) {
  std::string out = "\xd9";
  out += static_cast<char>(text.size());
  return out + text;
}

// {"library": {"type": "Placeholder", "value": name}} for each name, in an array.
std::string tensile_index(const std::vector<std::string> &names) {
  std::string out(1, static_cast<char>(0x90 + names.size()));
  for (const std::string &name : names) {
    out += "\x82";
    for (const std::string &text : {std::string("type"), std::string("Placeholder"), std::string("value"), name})
      out += pack_text(text);
  }
  return out;
}

TEST(SideFile, ALazyIndexNamesItsFiles) {
  const std::vector<std::string> names = {"TensileLibrary_Type_DD_x_gfx942", "TensileLibrary_Type_HH_x_fallback"};
  const std::string index = tensile_index(names);
  std::string deflated(compressBound(index.size()), '\0');
  uLongf size = deflated.size();
  ASSERT_EQ(
      compress(reinterpret_cast<Bytef *>(deflated.data()), &size, reinterpret_cast<const Bytef *>(index.data()), index.size()),
      Z_OK);
  deflated.resize(size);
  Problems problems;
  EXPECT_EQ(read("rocblas/library/TensileLibrary_lazy_gfx942.dat", index, problems).names, names);
  EXPECT_EQ(read("hipblaslt/library/TensileLibrary_lazy_gfx942.dat.zlib", deflated, problems).names, names);
  EXPECT_EQ(read("rocblas/library/TensileLibrary_lazy_gfx942.yaml",
                 "library:\n  value: TensileLibrary_Type_DD_x_gfx942\n  value: 'TensileLibrary_Type_HH_x_fallback'\n", problems)
                .names,
            names);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(read("rocblas/library/TensileLibrary_gfx906.dat", index, problems).names.empty()) << "not lazy: has all in it";
}

TEST(SideFile, ADamagedIndexIsTold) {
  const std::string index = tensile_index({"TensileLibrary_Type_DD_x_gfx942"});
  for (size_t cut = 0; cut < index.size(); ++cut) {
    Problems problems;
    SideFile file = read("rocblas/library/TensileLibrary_lazy_gfx942.dat", index.substr(0, cut), problems);
    EXPECT_TRUE(file.names.empty() || file.names.size() == 1) << cut;
  }
  Problems problems;
  read("hipblaslt/library/TensileLibrary_lazy_gfx942.dat.zlib", "no zlib stream", problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].level, Level::warning);
  EXPECT_EQ(problems[0].origin.path, "hipblaslt/library/TensileLibrary_lazy_gfx942.dat.zlib");
}

// The bytes of a database that these statements make.
std::string database(const std::string &sql) {
  sqlite3 *db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  char *error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << (error ? error : "");
  sqlite3_int64 size = 0;
  unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string out(reinterpret_cast<char *>(bytes), static_cast<size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return out;
}

constexpr const char *kRocfft =
    "CREATE TABLE cache_v1 (kernel_name TEXT NOT NULL, arch TEXT NOT NULL, hip_version INTEGER NOT NULL, "
    "generator_sum BLOB NOT NULL, code BLOB NOT NULL, timestamp INTEGER NOT NULL, PRIMARY KEY "
    "(kernel_name, arch, hip_version, generator_sum));";

std::string rocfft_cache() {
  std::string sql = kRocfft;
  for (const char *arch : {"gfx906:sramecc+:xnack-", "gfx1030", "gfx90a:sramecc+:xnack+", "gfx90a:sramecc+:xnack-"})
    sql += "INSERT INTO cache_v1 VALUES ('k', '" + std::string(arch) + "', 1, x'00', zeroblob(9000), 1);";
  return database(sql);
}

TEST(SideFile, DatabasesTellByTheirContent) {
  Problems problems;
  EXPECT_EQ(read("lib/rocfft/rocfft_kernel_cache.db", rocfft_cache(), problems).targets,
            (std::vector<std::string>{"gfx1030", "gfx906", "gfx90a"}));
  const std::string kernels =
      database("CREATE TABLE kern_db (id INTEGER PRIMARY KEY ASC, kernel_name TEXT NOT NULL, kernel_args TEXT NOT NULL, "
               "kernel_blob BLOB "
               "NOT NULL, kernel_hash TEXT NOT NULL, uncompressed_size INT NOT NULL);"
               "INSERT INTO kern_db VALUES (1, 'conv.s.o', '-Wa,-defsym,x=1 -mcpu=gfx908:sramecc+', zeroblob(70000), 'h', 5);");
  SideFile file = read("miopen/db/gfx90a68.kdb", kernels, problems);
  EXPECT_EQ(file.targets, std::vector<std::string>{"gfx908"}) << "contents outrank names";
  EXPECT_EQ(read("miopen/db/miopen.db",
                 database("CREATE TABLE perf_db (id INTEGER, arch TEXT, num_cu INT); INSERT INTO perf_db VALUES (1, 'gfx906', "
                          "60), (2, 'gfx1030', 36);"),
                 problems)
                .targets,
            (std::vector<std::string>{"gfx1030", "gfx906"}));
  EXPECT_TRUE(problems.empty()) << problems[0].message;
}

TEST(SideFile, WriteAheadDatabasesAreRead) {
  std::string bytes = rocfft_cache();
  bytes[18] = bytes[19] = 2;
  Problems problems;
  EXPECT_EQ(read("rocfft_kernel_cache.db", bytes, problems).targets.size(), 3u);
  EXPECT_TRUE(problems.empty());
}

TEST(SideFile, HostileDatabasesAreToldAndHarmless) {
  const std::string sound = rocfft_cache();
  auto expect_problem = [](const std::string &bytes, const char *what) {
    Problems problems;
    SideFile file = read("lib/rocfft/rocfft_kernel_cache_gfx950.db", bytes, problems);
    EXPECT_EQ(problems.size(), 1u) << what;
    EXPECT_EQ(file.targets, std::vector<std::string>{"gfx950"}) << what;
  };
  expect_problem("", "empty");
  expect_problem("SQLite format 2", "another format");
  expect_problem(sound.substr(0, 100), "a header only");
  expect_problem(database("CREATE TABLE other (arch TEXT);"), "no such table");
  expect_problem(
      database("CREATE TABLE t (arch TEXT); INSERT INTO t VALUES ('gfx900'); CREATE VIEW cache_v1 AS SELECT arch FROM t;"),
      "a view");
  for (size_t size = 0; size < sound.size(); size += 97) {
    Problems ignored;
    read("lib/rocfft/rocfft_kernel_cache_gfx950.db", sound.substr(0, size), ignored);
  }
  for (size_t at = 0; at < sound.size(); at += 37) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ 0xff);
    Problems ignored;
    read("lib/rocfft/rocfft_kernel_cache_gfx950.db", bytes, ignored);
  }
}

TEST(SideFile, TablesOfAiterNameCodeObjects) {
  Problems problems;
  EXPECT_EQ(read("aiter_meta/hsa/gfx942/pa/pa_asm.csv",
                 "qType,blkSz,knl_name,knl_file\nbf16,16,_ZN5aiter1aE,a.co\r\nfp16,16,_ZN5aiter1bE, b.co \nshort\n", problems)
                .names,
            (std::vector<std::string>{"a.co", "b.co"}));
  EXPECT_EQ(read("aiter_meta/hsa/gfx942/x/y.csv", "tile_m,knl_name,co_name\n16,k,sub/c.co", problems).names,
            std::vector<std::string>{"sub/c.co"});
  EXPECT_TRUE(read("aiter_meta/hsa/gfx942/x/z.csv", "M,N,K\n1,2,3\n", problems).names.empty());
  EXPECT_TRUE(problems.empty());
}

TEST(SideFile, SignaturesOfAotritonNameTheBuild) {
  Problems problems;
  EXPECT_EQ(
      read("aotriton.images/amd-gfx942/__signature__", "{\"AOTRITON_GIT_SHA1\": \"dd1b68b604b5258e\", \"X\": 1}", problems)
          .detail,
      "dd1b68b604b5258e");
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(read("aotriton.images/amd-gfx942/__signature__", "{}", problems).detail, "");
  EXPECT_EQ(problems.size(), 1u);
}

} // namespace

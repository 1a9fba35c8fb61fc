#include "support/device_builder.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MD5.h"

namespace isa_audit::test {

namespace {

// MessagePack, as much of it as metadata takes.
struct Pack {
  ByteWriter out;
  void map(size_t n) { out.le<uint8_t>(0xde).le<uint8_t>(uint8_t(n >> 8)).le<uint8_t>(uint8_t(n)); }
  void array(size_t n) { out.le<uint8_t>(0xdc).le<uint8_t>(uint8_t(n >> 8)).le<uint8_t>(uint8_t(n)); }
  void text(const std::string &s) {
    out.le<uint8_t>(0xda).le<uint8_t>(uint8_t(s.size() >> 8)).le<uint8_t>(uint8_t(s.size())).raw(s);
  }
  void number(uint8_t n) { out.le<uint8_t>(n); }
};

std::string metadata_note(const CodeObjectSpec &spec) {
  Pack p;
  p.map(3);
  p.text("amdhsa.version");
  p.array(2);
  p.number(1);
  p.number(spec.version >= 5 ? 2 : spec.version == 4 ? 1 : 0);
  p.text("amdhsa.target");
  p.text(spec.target);
  p.text("amdhsa.kernels");
  p.array(spec.kernels.size());
  for (const std::string &name : spec.kernels) {
    p.map(5);
    p.text(".args");
    p.array(1);
    p.map(1);
    p.text(".name"); // of an argument, not of the kernel
    p.text("argument");
    p.text(".name");
    p.text(name);
    p.text(".wavefront_size");
    p.number(uint8_t(spec.wavefront));
    p.text(".vgpr_count");
    p.number(24);
    p.text(".group_segment_fixed_size");
    p.number(100);
  }
  ByteWriter note;
  note.le<uint32_t>(7)
      .le<uint32_t>(uint32_t(p.out.size()))
      .le<uint32_t>(32)
      .raw(std::string_view("AMDGPU\0\0", 8))
      .raw(p.out.bytes())
      .align(4);
  return note.bytes();
}

} // namespace

std::string build_elf(const ElfSpec &spec) {
  std::string names(1, '\0');
  std::vector<uint32_t> name_at;
  for (const ElfSectionSpec &s : spec.sections) {
    name_at.push_back(uint32_t(names.size()));
    names += s.name + '\0';
  }
  uint32_t names_name = uint32_t(names.size());
  names += std::string(".shstrtab") + '\0';
  ByteWriter body;
  body.pad_to(64 + 56);
  std::vector<uint64_t> offsets;
  for (const ElfSectionSpec &s : spec.sections) {
    body.align(s.align);
    offsets.push_back(body.size());
    if (s.type != 8) body.raw(s.bytes);
  }
  uint64_t names_at = body.size();
  body.raw(names).align(8);
  uint64_t table = body.size();
  auto header = [&](uint32_t name, uint32_t type, uint64_t flags, uint64_t offset, uint64_t size, uint32_t link,
                    uint64_t entry) {
    body.le(name)
        .le(type)
        .le(flags)
        .le(flags & 2 ? offset : uint64_t(0))
        .le(offset)
        .le(size)
        .le(link)
        .le(uint32_t(0))
        .le(uint64_t(1))
        .le(entry);
  };
  header(0, 0, 0, 0, 0, 0, 0);
  for (size_t i = 0; i < spec.sections.size(); ++i)
    header(name_at[i], spec.sections[i].type, spec.sections[i].flags, offsets[i], spec.sections[i].bytes.size(),
           spec.sections[i].link, spec.sections[i].entry_size);
  header(names_name, 3, 0, names_at, names.size(), 0, 0);
  ByteWriter head;
  head.raw("\x7f"
           "ELF")
      .le<uint8_t>(2)
      .le<uint8_t>(1)
      .le<uint8_t>(1)
      .le(spec.os_abi)
      .le(spec.abi_version)
      .pad_to(16);
  head.le(spec.type).le(spec.machine).le(uint32_t(1)).le(uint64_t(0)).le(uint64_t(64)).le(table).le(spec.flags);
  head.le(uint16_t(64))
      .le(uint16_t(56))
      .le(uint16_t(1))
      .le(uint16_t(64))
      .le(uint16_t(spec.sections.size() + 2))
      .le(uint16_t(spec.sections.size() + 1));
  uint64_t size = body.size();
  head.le(uint32_t(1)).le(uint32_t(4)).le(uint64_t(0)).le(uint64_t(0)).le(uint64_t(0)).le(size).le(size).le(uint64_t(4096));
  std::string out = body.bytes();
  out.replace(0, head.size(), head.bytes());
  return out;
}

std::string build_code_object(const CodeObjectSpec &spec) {
  ElfSpec elf;
  elf.os_abi = 64;
  elf.abi_version = uint8_t(spec.version - 2);
  elf.machine = 224;
  elf.flags = spec.flags;
  // First, so that its address is known: 256.
  elf.sections.push_back({".text", 1, 6, spec.code.empty() ? std::string(64, '\0') : spec.code, 256});
  if (spec.metadata) elf.sections.push_back({".note", 7, 2, metadata_note(spec), 4});
  if (!spec.code.empty()) {
    ByteWriter symbol;
    symbol.pad_to(24)
        .le(uint32_t(1))
        .le(uint8_t(0x12))
        .le(uint8_t(0))
        .le(uint16_t(1))
        .le(uint64_t(256))
        .le(uint64_t(spec.code.size()));
    elf.sections.push_back({".strtab", 3, 0, std::string("\0code\0", 6), 1});
    elf.sections.push_back({".symtab", 2, 0, symbol.bytes(), 8, uint32_t(elf.sections.size()), 24});
  }
  if (!spec.metadata) {
    std::string strings(1, '\0');
    ByteWriter symbols;
    symbols.pad_to(24);
    for (const std::string &name : spec.kernels) {
      symbols.le(uint32_t(strings.size()))
          .le(uint8_t(spec.version == 2 ? 0x1a : 0x11))
          .le(uint8_t(3))
          .le(uint16_t(1))
          .le(uint64_t(0))
          .le(uint64_t(64));
      strings += name + (spec.version == 2 ? "" : ".kd") + '\0';
    }
    elf.sections.push_back({".dynstr", 3, 2, strings, 1});
    elf.sections.push_back({".dynsym", 11, 2, symbols.bytes(), 8, uint32_t(elf.sections.size()), 24});
  }
  if (spec.version == 2) {
    ByteWriter note;
    note.le(uint32_t(4)).le(uint32_t(0x1a)).le(uint32_t(3)).raw(std::string_view("AMD\0", 4));
    note.le(uint16_t(4))
        .le(uint16_t(7))
        .le(spec.steps[0])
        .le(spec.steps[1])
        .le(spec.steps[2])
        .raw(std::string_view("AMD\0AMDGPU\0", 11))
        .align(4);
    elf.sections.push_back({".note.amd", 7, 2, note.bytes(), 4});
  }
  return build_elf(elf);
}

std::string build_bundle(const std::vector<std::pair<std::string, std::string>> &entries, uint64_t align) {
  std::vector<std::pair<std::string, std::string>> all = {{"host-x86_64-unknown-linux-gnu-", ""}};
  all.insert(all.end(), entries.begin(), entries.end());
  uint64_t header = 32;
  for (auto &[id, bytes] : all) header += 24 + id.size();
  auto up = [&](uint64_t n) { return (n + align - 1) / align * align; };
  ByteWriter out;
  out.raw("__CLANG_OFFLOAD_BUNDLE__").le(uint64_t(all.size()));
  uint64_t at = up(header);
  for (auto &[id, bytes] : all) {
    out.le(at).le(uint64_t(bytes.size())).le(uint64_t(id.size())).raw(id);
    if (!bytes.empty()) at = up(at + bytes.size());
  }
  for (auto &[id, bytes] : all)
    if (!bytes.empty()) out.align(align).raw(bytes);
  return out.bytes();
}

std::string build_ccob(const std::string &bundle, uint16_t version, uint16_t method) {
  std::string payload;
  if (method == 0) {
    uLongf size = compressBound(bundle.size());
    payload.resize(size);
    compress(reinterpret_cast<Bytef *>(payload.data()), &size, reinterpret_cast<const Bytef *>(bundle.data()), bundle.size());
    payload.resize(size);
  } else {
    payload.resize(ZSTD_compressBound(bundle.size()));
    payload.resize(ZSTD_compress(payload.data(), payload.size(), bundle.data(), bundle.size(), 3));
  }
  llvm::MD5 md5;
  md5.update(llvm::StringRef(bundle));
  llvm::MD5::MD5Result digest;
  md5.final(digest);
  ByteWriter out;
  out.raw("CCOB").le(version).le(method);
  if (version == 1) out.le(uint32_t(bundle.size()));
  if (version == 2) out.le(uint32_t(24 + payload.size())).le(uint32_t(bundle.size()));
  if (version >= 3) out.le(uint64_t(32 + payload.size())).le(uint64_t(bundle.size()));
  return out.le(uint64_t(digest.low())).raw(payload).bytes();
}

std::string build_aks2(const std::vector<Aks2Kernel> &kernels) {
  ByteWriter directory, blobs;
  for (const Aks2Kernel &kernel : kernels) {
    directory.le(uint32_t(1024)).le(uint32_t(256)).le(uint32_t(blobs.size())).le(uint32_t(kernel.image.size()));
    directory.le(uint32_t(kernel.name.size() + 1)).raw(kernel.name).le(uint8_t(0));
    blobs.raw(kernel.image);
  }
  std::string content = directory.bytes() + blobs.bytes();
  std::string payload(lzma_stream_buffer_bound(content.size()), '\0');
  size_t size = 0;
  auto *in = reinterpret_cast<const uint8_t *>(content.data());
  auto *out = reinterpret_cast<uint8_t *>(payload.data());
  if (lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, in, content.size(), out, &size, payload.size()) != LZMA_OK)
    return "";
  payload.resize(size);
  ByteWriter file;
  file.raw("AKS2").le(uint32_t(content.size())).le(uint32_t(kernels.size())).le(uint32_t(directory.size())).raw(payload);
  return file.bytes();
}

std::string build_kpack(const std::vector<KpackObject> &objects, bool compressed) {
  ByteWriter file;
  file.raw("KPAK").le(uint32_t(1)).le(uint64_t(0)).pad_to(64);
  uint64_t start = file.size();
  Pack toc;
  auto number = [&](uint64_t n) {
    toc.out.le<uint8_t>(0xcf);
    for (int shift = 56; shift >= 0; shift -= 8) toc.out.le(uint8_t(n >> shift));
  };
  toc.map(compressed ? 5 : 4);
  toc.text("format_version");
  toc.number(1);
  toc.text("compression_scheme");
  toc.text(compressed ? "zstd-per-kernel" : "none");
  if (compressed)
    file.le(uint32_t(objects.size()));
  else {
    toc.text("blobs");
    toc.array(objects.size());
  }
  for (const KpackObject &object : objects) {
    if (compressed) {
      std::string frame(ZSTD_compressBound(object.image.size()), '\0');
      frame.resize(ZSTD_compress(frame.data(), frame.size(), object.image.data(), object.image.size(), 3));
      file.le(uint32_t(frame.size())).raw(frame);
      continue;
    }
    toc.map(2);
    toc.text("offset");
    number(file.size());
    toc.text("size");
    number(object.image.size());
    file.raw(object.image);
  }
  if (compressed) {
    toc.text("zstd_offset");
    number(start);
    toc.text("zstd_size");
    number(file.size() - start);
  }
  std::map<std::string, std::vector<size_t>> keys;
  for (size_t i = 0; i < objects.size(); ++i) keys[objects[i].key].push_back(i);
  toc.text("toc");
  toc.map(keys.size());
  for (const auto &[key, members] : keys) {
    toc.text(key);
    toc.map(members.size());
    for (size_t i : members) {
      toc.text(objects[i].target);
      toc.map(3);
      toc.text("type");
      toc.text("hsaco");
      toc.text("ordinal");
      number(i);
      toc.text("original_size");
      number(objects[i].image.size());
    }
  }
  uint64_t table = file.size();
  std::string out = file.raw(toc.out.bytes()).bytes();
  std::memcpy(out.data() + 8, &table, sizeof table);
  return out;
}

std::string build_kpack_reference(const std::string &kernel_name, const std::vector<std::string> &search_paths) {
  Pack pack;
  pack.map(2);
  pack.text("kernel_name");
  pack.text(kernel_name);
  pack.text("kpack_search_paths");
  pack.array(search_paths.size());
  for (const std::string &path : search_paths) pack.text(path);
  return pack.out.bytes();
}

std::string build_split_host(const std::string &reference, const std::vector<uint32_t> &indices) {
  ByteWriter wrappers;
  for (uint32_t index : indices) wrappers.le(uint32_t(0x4b504948)).le(uint32_t(1)).le(uint64_t(0)).le(index).le(uint32_t(0));
  ElfSpec elf;
  elf.sections.push_back({".text", 1, 6, std::string(16, '\x90'), 16});
  elf.sections.push_back({".hip_fatbin", 8, 2, std::string(4096, '\0'), 16});
  elf.sections.push_back({".hipFatBinSegment", 1, 3, wrappers.bytes(), 8});
  if (!reference.empty()) elf.sections.push_back({".rocm_kpack_ref", 1, 2, reference, 8});
  return build_elf(elf);
}

std::string build_pe(const std::vector<PeSectionSpec> &sections, uint16_t machine) {
  ByteWriter out;
  out.raw("MZ").pad_to(60).le(uint32_t(0x80)).pad_to(0x80).raw(std::string_view("PE\0\0", 4));
  out.le(machine).le(uint16_t(sections.size())).pad_to(out.size() + 12).le(uint16_t(240)).le(uint16_t(0x2022));
  out.pad_to(out.size() + 240);
  uint64_t at = (out.size() + 40 * sections.size() + 511) / 512 * 512;
  for (const PeSectionSpec &s : sections) {
    size_t start = out.size();
    out.raw(s.name)
        .pad_to(start + 8)
        .le(uint32_t(s.bytes.size()))
        .le(uint32_t(at))
        .le(uint32_t(s.bytes.size()))
        .le(uint32_t(at));
    out.pad_to(start + 36).le(s.flags);
    at = (at + s.bytes.size() + 511) / 512 * 512;
  }
  for (const PeSectionSpec &s : sections) out.align(512).raw(s.bytes);
  return out.bytes();
}

std::string build_host(const std::string &fatbin, const std::string &rodata) {
  ElfSpec elf;
  elf.sections.push_back({".text", 1, 6, std::string(16, '\x90'), 16});
  if (!rodata.empty()) elf.sections.push_back({".rodata", 1, 2, rodata, 16});
  if (!fatbin.empty()) elf.sections.push_back({".hip_fatbin", 1, 2, fatbin, 4096});
  return build_elf(elf);
}

} // namespace isa_audit::test

// The scan runs over every allocated data byte of a library, 400 MB and more, so it looks at 16 bytes at a time with SSE2 (part
// of every x86-64 CPU): of each magic two neighbouring bytes that are rare together are compared, and only where both stand is
// the whole magic. The four pairs are "CL" (third and fourth byte of the bundle magic, whose first two are common in mangled
// names), "CC", 0x7f 'E' and 0x10 0xff.
#include "magic_scan.h"

#include <emmintrin.h>

#include <algorithm>

#include "bundle.h"
#include "code_object_reader.h"

namespace isa_audit {

namespace {

constexpr uint64_t kChunk = uint64_t{8} << 20;
constexpr std::string_view kOffloadBinaryMagic = "\x10\xff\x10\xad";

void verify(std::string_view text, uint64_t at, std::vector<MagicHit> &out) {
  std::string_view here = text.substr(at);
  if (here[0] == 'C') {
    if (here.starts_with(kCcobMagic)) out.push_back({at, Magic::ccob});
    if (at >= 2 && text.substr(at - 2).starts_with(kBundleMagic)) out.push_back({at - 2, Magic::bundle});
  } else if (is_amdgpu_elf(here)) {
    out.push_back({at, Magic::elf});
  } else if (here.starts_with(kOffloadBinaryMagic)) {
    out.push_back({at, Magic::offload_binary});
  }
}

// Hits whose pair starts in [from, to).
void scan_chunk(std::string_view text, uint64_t from, uint64_t to, std::vector<MagicHit> &out) {
  const __m128i c = _mm_set1_epi8('C'), l = _mm_set1_epi8('L'), del = _mm_set1_epi8(0x7f), e = _mm_set1_epi8('E'),
                dle = _mm_set1_epi8(0x10), ff = _mm_set1_epi8(char(0xff));
  uint64_t at = from;
  for (; at < to && text.size() - at >= 17; at += 16) {
    const char *p = text.data() + at;
    __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
    __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p + 1));
    __m128i cs = _mm_and_si128(_mm_cmpeq_epi8(first, c), _mm_or_si128(_mm_cmpeq_epi8(second, c), _mm_cmpeq_epi8(second, l)));
    __m128i elfs = _mm_and_si128(_mm_cmpeq_epi8(first, del), _mm_cmpeq_epi8(second, e));
    __m128i offloads = _mm_and_si128(_mm_cmpeq_epi8(first, dle), _mm_cmpeq_epi8(second, ff));
    unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(cs, _mm_or_si128(elfs, offloads))));
    for (; mask; mask &= mask - 1) {
      uint64_t hit = at + static_cast<unsigned>(__builtin_ctz(mask));
      if (hit < to) verify(text, hit, out);
    }
  }
  for (; at < to; ++at) {
    char ch = text[at];
    if (ch == 'C' || ch == 0x7f || ch == 0x10) verify(text, at, out);
  }
}

} // namespace

std::vector<MagicHit> scan_magics(const Bytes &bytes, const ParallelFor &parallel) {
  std::string_view text = bytes.text();
  size_t chunks = (text.size() + kChunk - 1) / kChunk;
  std::vector<std::vector<MagicHit>> found(chunks);
  auto body = [&](size_t i) { scan_chunk(text, i * kChunk, std::min<uint64_t>(text.size(), (i + 1) * kChunk), found[i]); };
  if (chunks > 1)
    parallel(chunks, body);
  else if (chunks == 1)
    body(0);
  std::vector<MagicHit> out;
  for (auto &part : found) out.insert(out.end(), part.begin(), part.end());
  std::ranges::sort(out, {}, &MagicHit::offset);
  return out;
}

} // namespace isa_audit

// A unit holds a label, an offset to its children and a mark that a value hangs there.
// Called by codec/normalizer. Read next: codec/normalizer.cc.
#include "codec/charmap.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"

namespace fathom::codec {

namespace {

constexpr size_t kHeaderBytes = 4;

bool has_leaf(uint32_t unit) {
  return ((unit >> 8) & 1) != 0;
}

uint32_t label_of(uint32_t unit) {
  return unit & ((uint32_t{1} << 31) | 0xFF);
}

uint32_t offset_of(uint32_t unit) {
  return (unit >> 10) << ((unit & (uint32_t{1} << 9)) >> 6);
}

}  // namespace

Charmap::Charmap(std::string_view blob, std::string_view where) {
  uint32_t trie_bytes = 0;
  if (blob.size() > kHeaderBytes) {
    std::memcpy(&trie_bytes, blob.data(), kHeaderBytes);
  }
  if (blob.size() <= kHeaderBytes || trie_bytes >= blob.size() - kHeaderBytes ||
      trie_bytes % sizeof(uint32_t) != 0 || trie_bytes == 0) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: the character map of {} bytes says that its first part has {}; expected "
                     "a multiple of 4 below the rest",
                     where, blob.size(), trie_bytes));
  }
  units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(units_.data(), blob.data() + kHeaderBytes, trie_bytes);
  replacements_ = blob.substr(kHeaderBytes + trie_bytes);
}

template <class F>
void Charmap::walk(std::string_view text, F on_match) const {
  size_t at = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label_of(units_[at]) != byte) {
      return;
    }
    const uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_leaf(unit)) {
      continue;
    }
    const size_t value = at < units_.size() ? units_[at] & 0x7FFFFFFF : replacements_.size();
    if (value >= replacements_.size()) {
      return;
    }
    const size_t end = replacements_.find('\0', value);
    const size_t size = (end == std::string::npos ? replacements_.size() : end) - value;
    if (!on_match(Match{i + 1, std::string_view(replacements_).substr(value, size)})) {
      return;
    }
  }
}

std::optional<Charmap::Match> Charmap::find_longest(std::string_view text) const {
  std::optional<Match> found;
  if (!is_empty()) {
    walk(text, [&](const Match& match) {
      found = match;
      return true;
    });
  }
  return found;
}

std::optional<Charmap::Match> Charmap::find_shortest(std::string_view text) const {
  std::optional<Match> found;
  if (!is_empty()) {
    walk(text, [&](const Match& match) {
      found = match;
      return false;
    });
  }
  return found;
}

}  // namespace fathom::codec

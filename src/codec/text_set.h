// A set of texts of which the longest that begins at a place is wanted.
// Called by codec/added_tokens, codec/piece_normalizer, codec/sentencepiece. Read next:
// codec/text_set.cc.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::codec {

class TextSet {
 public:
  struct Entry {
    std::string text;
    size_t value = 0;
  };

  TextSet() = default;

  // Empty texts are left out; of two equal texts the first counts.
  explicit TextSet(std::vector<Entry> entries);

  [[nodiscard]] bool is_empty() const { return entries_.empty(); }

  // The longest entry that begins at `at` (< text.size()), or nullptr. Thread rule: any thread.
  [[nodiscard]] const Entry* find_longest(std::string_view text, size_t at) const {
    const auto first = static_cast<unsigned char>(text[at]);
    if (by_first_byte_[first].end == 0) {
      return nullptr;
    }
    const size_t second = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0;
    return pairs_[size_t{first} * 256 + second] || is_alone_[first] ? search(text, at) : nullptr;
  }

 private:
  // Positions in entries_: [begin, end).
  struct Range {
    size_t begin = 0, end = 0;
  };

  [[nodiscard]] const Entry* search(std::string_view text, size_t at) const;

  std::vector<Entry> entries_;  // sorted by text, no two equal
  std::array<Range, 256> by_first_byte_{};
  std::bitset<256> is_alone_;  // bytes that are an entry
  std::bitset<65536> pairs_;   // the first two bytes of longer entries
};

}  // namespace fathom::codec

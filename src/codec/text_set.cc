// Sorted texts; a search narrows the range byte by byte. Most places are refused by a look at their
// first two bytes. Called by codec/added_tokens, codec/piece_normalizer, codec/sentencepiece.
// Read next: codec/added_tokens.cc.
#include "codec/text_set.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fathom::codec {

TextSet::TextSet(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.text.empty(); });
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.text < b.text; });
  const auto same = [](const Entry& a, const Entry& b) { return a.text == b.text; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string& text = entries_[i].text;
    const auto first = static_cast<unsigned char>(text[0]);
    Range& range = by_first_byte_[first];
    if (range.end == 0) {
      range.begin = i;
    }
    range.end = i + 1;
    if (text.size() == 1) {
      is_alone_.set(first);
    } else {
      pairs_.set(size_t{first} * 256 + static_cast<unsigned char>(text[1]));
    }
  }
}

const TextSet::Entry* TextSet::search(std::string_view text, size_t at) const {
  const Range first = by_first_byte_[static_cast<unsigned char>(text[at])];
  auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(first.begin);
  auto end = entries_.begin() + static_cast<std::ptrdiff_t>(first.end);
  const Entry* longest = nullptr;
  // [begin, end): the entries that agree with the text in their first `depth` bytes.
  for (size_t depth = 1; begin != end; ++depth) {
    if (begin->text.size() == depth) {
      longest = &*begin;
      ++begin;
    }
    if (at + depth == text.size()) {
      break;
    }
    const char next = text[at + depth];
    begin = std::partition_point(begin, end, [&](const Entry& entry) {
      return static_cast<unsigned char>(entry.text[depth]) < static_cast<unsigned char>(next);
    });
    end = std::partition_point(begin, end,
                               [&](const Entry& entry) { return entry.text[depth] == next; });
  }
  return longest;
}

}  // namespace fathom::codec

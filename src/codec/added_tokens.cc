// One pass from match to match; what a refused match covers is not looked at again.
// Called by codec/text_tokenizer. Read next: codec/text_set.cc, codec/text_tokenizer.cc.
#include "codec/added_tokens.h"

#include <algorithm>
#include <utility>

#include "codec/unicode.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

TextSet index_tokens(const std::vector<AddedToken>& tokens) {
  std::vector<TextSet::Entry> entries;
  for (size_t i = 0; i < tokens.size(); ++i) {
    entries.push_back({tokens[i].text, i});
  }
  return TextSet(std::move(entries));
}

bool is_word_at(std::string_view text, size_t at) {
  return is_word_character(read_utf8(text, at).character);
}

// Whether a word goes on before `begin` or after `end`.
bool touches_word(std::string_view text, size_t begin, size_t end) {
  return (begin > 0 && is_word_at(text, character_start(text, begin))) ||
         (end < text.size() && is_word_at(text, end));
}

bool overlaps(std::span<const PlainRange> ranges, size_t begin, size_t end) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const PlainRange& range) {
    return range.begin < end && begin < range.end;
  });
}

}  // namespace

bool is_markup(std::string_view text) {
  return text.size() > 2 && ((text.front() == '<' && text.back() == '>') ||
                             (text.front() == '[' && text.back() == ']'));
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), texts_(index_tokens(tokens_)) {}

std::vector<Fragment> AddedTokens::split(std::string_view text,
                                         const EncodeOptions& options) const {
  std::vector<Fragment> fragments;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const TextSet::Entry* entry = texts_.find_longest(text, at);
    if (entry == nullptr) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[entry->value];
    size_t begin = at;
    size_t end = at + token.text.size();
    at = end;
    const bool is_structure = token.is_control || token.is_marker;
    if ((token.is_control && !options.parse_special) || (token.is_marker && options.keep_markers) ||
        (is_structure && overlaps(options.plain, begin, end)) ||
        (token.single_word && touches_word(text, begin, end))) {
      continue;
    }
    begin = token.strips_left ? std::max(done, skip_white_space_back(text, 0, begin)) : begin;
    end = token.strips_right ? skip_white_space(text, end) : end;
    if (begin > done) {
      fragments.push_back({text.substr(done, begin - done), -1});
    }
    fragments.push_back({text.substr(begin, end > begin ? end - begin : 0), token.id});
    done = end;
  }
  if (done < text.size()) {
    fragments.push_back({text.substr(done), -1});
  }
  return fragments;
}

}  // namespace fathom::codec

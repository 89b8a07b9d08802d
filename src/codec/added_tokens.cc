// At each byte that begins a token, the lengths that occur are looked up in a hash table, longest
// first. Called by codec/text_tokenizer. Read next: codec/text_tokenizer.cc.
#include "codec/added_tokens.h"

#include <algorithm>
#include <utility>

#include "codec/utf8.h"

namespace fathom::codec {

namespace {

// Unicode's White_Space.
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// The end of the white space that begins at `at`.
size_t skip_white_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Unit unit = read_utf8(text, at);
    if (!is_white_space(unit.character)) {
      break;
    }
    at += unit.size;
  }
  return at;
}

// The begin of the white space that ends at `end`, not before `floor`.
size_t skip_white_space_back(std::string_view text, size_t floor, size_t end) {
  while (end > floor) {
    size_t at = end - 1;
    while (at > floor && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80) {
      --at;
    }
    if (!is_white_space(read_utf8(text, at).character)) {
      break;
    }
    end = at;
  }
  return end;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.text.empty(); });
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; });
  const auto same = [](const AddedToken& a, const AddedToken& b) { return a.text == b.text; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    Range& range = by_first_byte_[static_cast<unsigned char>(tokens_[i].text[0])];
    if (range.end == 0) {
      range.begin = i;
    }
    range.end = i + 1;
  }
}

const AddedToken* AddedTokens::match(std::string_view text, size_t at) const {
  const Range first = by_first_byte_[static_cast<unsigned char>(text[at])];
  auto begin = tokens_.begin() + static_cast<std::ptrdiff_t>(first.begin);
  auto end = tokens_.begin() + static_cast<std::ptrdiff_t>(first.end);
  const AddedToken* longest = nullptr;
  // [begin, end): the tokens that agree with the text in their first `depth` bytes.
  for (size_t depth = 1; begin != end; ++depth) {
    if (begin->text.size() == depth) {
      longest = &*begin;
      ++begin;
    }
    if (at + depth == text.size()) {
      break;
    }
    const char next = text[at + depth];
    begin = std::partition_point(begin, end, [&](const AddedToken& token) {
      return static_cast<unsigned char>(token.text[depth]) < static_cast<unsigned char>(next);
    });
    end = std::partition_point(begin, end,
                               [&](const AddedToken& token) { return token.text[depth] == next; });
  }
  return longest;
}

std::vector<Fragment> AddedTokens::split(std::string_view text,
                                         const EncodeOptions& options) const {
  std::vector<Fragment> fragments;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const AddedToken* token = match(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + token->text.size();
    at = end;
    if ((token->is_control && !options.parse_special) ||
        (token->is_marker && options.keep_markers)) {
      continue;  // as the reference: what overlaps it is not looked at either
    }
    begin = token->strips_left ? skip_white_space_back(text, done, begin) : begin;
    end = token->strips_right ? skip_white_space(text, end) : end;
    if (begin > done) {
      fragments.push_back({text.substr(done, begin - done), -1});
    }
    fragments.push_back({text.substr(begin, end - begin), token->id});
    done = end;
    at = end;
  }
  if (done < text.size()) {
    fragments.push_back({text.substr(done), -1});
  }
  return fragments;
}

}  // namespace fathom::codec

// At each byte that begins a token, the lengths that occur are looked up in a hash table, longest
// first. Called by codec/text_tokenizer. Read next: codec/text_tokenizer.cc.
#include "codec/added_tokens.h"

#include <algorithm>
#include <functional>

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

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens) : index_(tokens.size()) {
  for (const AddedToken& token : tokens) {
    if (token.text.empty()) {
      continue;
    }
    index_.insert(token.text, static_cast<TokenId>(tokens_.size()));
    tokens_.push_back(token);
    lengths_[static_cast<unsigned char>(token.text[0])].push_back(
        static_cast<uint32_t>(token.text.size()));
  }
  for (std::vector<uint32_t>& lengths : lengths_) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
}

const AddedToken* AddedTokens::match(std::string_view text, size_t at) const {
  for (const uint32_t length : lengths_[static_cast<unsigned char>(text[at])]) {
    if (length > text.size() - at) {
      continue;
    }
    if (const auto found = index_.find(text.substr(at, length))) {
      return &tokens_[static_cast<size_t>(*found)];
    }
  }
  return nullptr;
}

std::vector<Fragment> AddedTokens::split(std::string_view text, bool parse_special) const {
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
    if (token->is_control && !parse_special) {
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

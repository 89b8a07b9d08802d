// UTF-8 at the borders: what is valid, what is cut off, what becomes U+FFFD.
// Called by codec/text_tokenizer, codec/detokenizer. Read next: the Unicode Standard, section 3.9,
// D93b.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fathom::codec {

// What stands at one place of a byte string.
struct Utf8Unit {
  enum class Kind {
    kCharacter,  // a whole, valid character
    kInvalid,    // a maximal subpart of an ill-formed sequence: one U+FFFD
    kOpen,       // the text ends inside a character that may still become valid
  };
  Kind kind;
  size_t size;         // bytes, at least 1
  char32_t character;  // for kCharacter
};

// Reads the unit at `at` (< text.size()).
Utf8Unit read_utf8(std::string_view text, size_t at);

// Adds one character (a valid scalar value).
void append_utf8(std::string& out, char32_t character);

bool is_valid_utf8(std::string_view text);

// `text` with U+FFFD for every maximal subpart of an ill-formed sequence; an open end is one too.
std::string replace_invalid_utf8(std::string_view text);

// Bytes at the end of `text` that begin a character without finishing it: 0 to 3.
size_t open_end_bytes(std::string_view text);

}  // namespace fathom::codec

// The byte-level alphabet: every byte as one printable character, so that a vocabulary of bytes can
// be stored as text ("Ġ" is the blank).
// Called by codec/bpe. Source: GPT-2's encoder.py, bytes_to_unicode.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::codec {

// One character per byte; a character has one or two bytes in UTF-8.
std::string to_byte_alphabet(std::string_view bytes);
void append_byte_alphabet(std::string& out, unsigned char byte);

// The inverse; nothing when a character of `text` is not in the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace fathom::codec

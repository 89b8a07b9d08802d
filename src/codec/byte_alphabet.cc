// Printable Latin-1 bytes stand for themselves, the 68 others for U+0100, U+0101 ... in order.
// Called by codec/bpe. Read next: codec/bpe.cc.
#include "codec/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/utf8.h"

namespace fathom::codec {

namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr size_t kAlphabetEnd = 0x144;  // 0x100 + 68

constexpr bool is_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<int16_t, kAlphabetEnd> byte{};  // -1: not in the alphabet
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte) {
    byte = -1;
  }
  char32_t next = kFirstStandIn;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t character = is_itself(byte) ? byte : next++;
    alphabet.character[byte] = character;
    alphabet.byte[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

void append_byte_alphabet(std::string& out, unsigned char byte) {
  append_utf8(out, kAlphabet.character[byte]);
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    append_byte_alphabet(out, static_cast<unsigned char>(c));
  }
  return out;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = read_utf8(text, at);
    if (unit.kind != Utf8Unit::Kind::kCharacter || unit.character >= kAlphabetEnd ||
        kAlphabet.byte[unit.character] < 0) {
      return std::nullopt;
    }
    out += static_cast<char>(kAlphabet.byte[unit.character]);
    at += unit.size;
  }
  return out;
}

}  // namespace fathom::codec

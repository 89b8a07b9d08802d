// Six bits a character, gathered until there are eight.
// Called by codec/tiktoken, codec/json_normalizers. Read next: codec/tiktoken.cc.
#include "codec/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace fathom::codec {

namespace {

constexpr std::array<int8_t, 256> make_values() {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) {
    value = -1;
  }
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return values;
}

constexpr std::array<int8_t, 256> kValues = make_values();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') {
    text.remove_suffix(1);
  }
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    const int8_t six = kValues[static_cast<unsigned char>(c)];
    if (six < 0) {
      return std::nullopt;
    }
    bits = (bits << 6 | static_cast<uint32_t>(six)) & 0xFFFF;
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      out += static_cast<char>(bits >> n_bits & 0xFF);
    }
  }
  return out;
}

}  // namespace fathom::codec

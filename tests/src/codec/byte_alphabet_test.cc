// The alphabet at its borders, there and back.
// Called by ctest. Source of the values: GPT-2's encoder.py, bytes_to_unicode.
#include "codec/byte_alphabet.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::codec {
namespace {

TEST(ByteAlphabet, IsTheOneOfGpt2) {
  EXPECT_EQ(to_byte_alphabet(" a\n"),
            "\xC4\xA0"
            "a\xC4\x8A");                                         // U+0120, a, U+010A
  EXPECT_EQ(to_byte_alphabet(std::string(1, '\0')), "\xC4\x80");  // U+0100
  EXPECT_EQ(to_byte_alphabet("\xAD"), "\xC5\x83");                // U+0143, the last
  EXPECT_EQ(to_byte_alphabet("\xFF"), "\xC3\xBF");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    EXPECT_EQ(from_byte_alphabet(to_byte_alphabet(one)), one);
  }
  EXPECT_FALSE(from_byte_alphabet(" "));
  EXPECT_FALSE(from_byte_alphabet("\xC5\x84"));  // U+0144
  EXPECT_FALSE(from_byte_alphabet("\xE4\xBD\xA0"));
}

}  // namespace
}  // namespace fathom::codec

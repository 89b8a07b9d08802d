// The test vectors of RFC 4648, section 10, and what is no base64.
// Called by ctest. Read next: src/codec/base64.cc.
#include "codec/base64.h"

#include <gtest/gtest.h>

namespace fathom::codec {
namespace {

TEST(Base64, DecodesTheVectorsOfTheRfc) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
  EXPECT_EQ(decode_base64("Zm9vYmE="), "fooba");
  EXPECT_EQ(decode_base64("Zm9vYmFy"), "foobar");
}

TEST(Base64, DecodesEveryByteAndTheSigns) {
  EXPECT_EQ(decode_base64("+/8="), "\xFB\xFF");
  EXPECT_EQ(decode_base64("AAEC"), std::string("\0\x01\x02", 3));
  EXPECT_EQ(decode_base64("Zg"), "f");  // padding may be missing
}

TEST(Base64, RefusesOtherCharacters) {
  for (const char* text : {"Zm9v Zm9v", "Zm-_", "Zm\n", "Z=g=", "\xC3\xA9"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fathom::codec

// Arithmetic against 64-bit integers where those suffice, and against known values beyond.
// Called by ctest.
#include "codec/jinja_bigint.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace fathom::codec::jinja {
namespace {

BigInt big(std::string_view digits) {
  return digits.starts_with('-') ? BigInt::parse(digits.substr(1), 10)->negated()
                                 : *BigInt::parse(digits, 10);
}

TEST(BigInt, AgreesWith64Bits) {
  const std::array<int64_t, 9> numbers = {0,          1,           -1,        7,        -7,
                                          1000000007, -4294967296, INT32_MAX, 1ll << 40};
  for (const int64_t a : numbers) {
    for (const int64_t b : numbers) {
      EXPECT_EQ((BigInt(a) + BigInt(b)).as_int64(), a + b);
      EXPECT_EQ((BigInt(a) - BigInt(b)).as_int64(), a - b);
      EXPECT_EQ(BigInt(a) < BigInt(b), a < b);
      if (b == 0) {
        continue;
      }
      BigInt quotient;
      BigInt rest;
      BigInt::divide(BigInt(a), BigInt(b), quotient, rest);
      const int64_t down =
          a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0;  // rounded down, not to zero
      EXPECT_EQ(quotient.as_int64(), a / b - down) << a << " " << b;
      EXPECT_EQ(rest.as_int64(), a % b + down * b) << a << " " << b;
    }
  }
}

TEST(BigInt, GoesBeyond64Bits) {
  const BigInt a = big("123456789012345678901234567890");
  EXPECT_EQ((a * a).to_string(), "15241578753238836750495351562536198787501905199875019052100");
  EXPECT_EQ((a - a).to_string(), "0");
  EXPECT_EQ((big("-5") * a).to_string(), "-617283945061728394506172839450");
  EXPECT_EQ(a.to_string(16), "18ee90ff6c373e0ee4e3f0ad2");
  EXPECT_EQ(BigInt::parse("18ee90ff6c373e0ee4e3f0ad2", 16), a);
  EXPECT_EQ(a.as_int64(), std::nullopt);
  EXPECT_EQ(BigInt(INT64_MIN).as_int64(), INT64_MIN);
  EXPECT_EQ((BigInt(INT64_MIN) - BigInt(1)).as_int64(), std::nullopt);
  EXPECT_EQ(BigInt::parse("12a", 10), std::nullopt);
  EXPECT_EQ(BigInt::parse("", 10), std::nullopt);
}

TEST(BigInt, RoundsToDoubles) {
  EXPECT_EQ(big("123456789012345678901234567890").as_double(), 123456789012345678901234567890.0);
  EXPECT_EQ(big("9007199254740993").as_double(), 9007199254740992.0);
  EXPECT_EQ(big("36893488147419107329").as_double(), 36893488147419111424.0);  // 2^65 + 2^12 + 1
  EXPECT_EQ(BigInt::from_double(1e30).to_string(), "1000000000000000019884624838656");
  EXPECT_EQ(BigInt::from_double(-2.9).to_string(), "-2");
  EXPECT_TRUE(std::isinf(BigInt::parse(std::string(400, '9'), 10)->as_double()));
}

}  // namespace
}  // namespace fathom::codec::jinja

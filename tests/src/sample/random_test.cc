// The generator against the published answers of the Random123 library.
// Read next: sample/random.h.
#include "sample/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace fathom::sample {
namespace {

// Source: Random123 1.14, examples/kat_vectors, philox 4x32 10.
TEST(RandomTest, PhiloxGivesTheKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, UniformIsMadeOfTheFirst53Bits) {
  // Words 0x6627e8d5 and 0xe169c58d: 27 bits of the first, 26 of the second.
  const double high = static_cast<double>(0x6627e8d5U >> 5);
  const double low = static_cast<double>(0xe169c58dU >> 6);
  EXPECT_EQ(uniform(0, 0, 0), (high * 0x1p26 + low) / 0x1p53);
}

TEST(RandomTest, SeedChoiceAndPositionEachChangeTheNumber) {
  std::set<double> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
    for (const uint32_t choice : {0U, 1U}) {
      for (const int64_t position : {int64_t{0}, int64_t{1}, int64_t{1} << 32}) {
        const double u = uniform(seed, choice, position);
        EXPECT_GE(u, 0.0);
        EXPECT_LT(u, 1.0);
        seen.insert(u);
      }
    }
  }
  EXPECT_EQ(seen.size(), 18U);
}

TEST(RandomTest, UniformFillsTenBinsEvenly) {
  constexpr int kDraws = 20000;
  std::array<int, 10> bins = {};
  for (int position = 0; position < kDraws; ++position) {
    ++bins[static_cast<size_t>(uniform(7, 0, position) * 10)];
  }
  double chi_square = 0;
  for (const int count : bins) {
    chi_square += std::pow(count - kDraws / 10.0, 2) / (kDraws / 10.0);
  }
  EXPECT_LT(chi_square, 27.88);  // 9 degrees of freedom, p = 0.001
}

}  // namespace
}  // namespace fathom::sample

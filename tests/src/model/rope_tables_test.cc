// Tables are those of rope.h for every length, are computed once while they are in use, and take
// what was counted.
#include "model/rope_tables.h"

#include <gtest/gtest.h>

#include "model/rope.h"

namespace fathom::model {
namespace {

RopeOptions rope_of(RopeScaling scaling) {
  RopeOptions rope;
  rope.rotary_dim = 8;
  rope.scaling = scaling;
  rope.factor = 2;
  rope.original_context = 16;
  rope.short_factors = {1, 1, 1, 1};
  rope.long_factors = {1, 2, 3, 4};
  return rope;
}

struct Rig {
  explicit Rig(std::vector<RopeOptions> kinds)
      : ropes(std::move(kinds)),
        divisors(ropes.size()),
        pool("scratch", RopeTables::bytes(ropes)),
        tables(ropes, divisors, pool) {
    EXPECT_EQ(pool.used_bytes(), RopeTables::bytes(ropes));
  }

  void expect_right(size_t kind, int64_t length) {
    std::vector<float> wanted(4);
    fill_inv_freq(ropes[kind], divisors[kind], length, wanted);
    const std::span<const float> found = tables.inv_freq(kind, length);
    EXPECT_EQ(std::vector<float>(found.begin(), found.end()), wanted) << kind << ' ' << length;
  }

  std::vector<RopeOptions> ropes;
  std::vector<std::vector<float>> divisors;
  MemoryPool pool;
  RopeTables tables;
};

TEST(RopeTables, FixedKindsAndLongropeAreComputedOnceForEachChoice) {
  Rig rig({rope_of(RopeScaling::kLinear), rope_of(RopeScaling::kLongRope)});
  rig.divisors[0] = {1, 1, 2, 2};
  for (int round = 0; round < 3; ++round) {
    for (const int64_t length : {1, 16, 17, 5000}) {
      rig.expect_right(0, length);
      rig.expect_right(1, length);
    }
  }
  EXPECT_EQ(rig.tables.n_filled(), 1 + 2);
}

TEST(RopeTables, LengthsInUseStay) {
  Rig rig({rope_of(RopeScaling::kDynamic)});
  for (int step = 0; step < 5; ++step) {
    for (int64_t length = 17; length < 17 + kDynamicTables; ++length) {
      rig.expect_right(0, length);
    }
  }
  EXPECT_EQ(rig.tables.n_filled(), kDynamicTables);
  rig.expect_right(0, 17);    // asked for again: 18 is now the oldest
  rig.expect_right(0, 1000);  // takes its place
  rig.expect_right(0, 17);
  EXPECT_EQ(rig.tables.n_filled(), kDynamicTables + 1);
  rig.expect_right(0, 18);
  EXPECT_EQ(rig.tables.n_filled(), kDynamicTables + 2);
  for (const int64_t length : {0, 3, 16}) {  // one choice
    rig.expect_right(0, length);
  }
  EXPECT_EQ(rig.tables.n_filled(), kDynamicTables + 3);
}

}  // namespace
}  // namespace fathom::model

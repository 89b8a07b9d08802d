// Tests of base/check: a broken invariant ends the program and says where.
#include "base/check.h"

#include <gtest/gtest.h>

namespace fathom {

namespace {

TEST(CheckDeathTest, AFailingCheckNamesConditionAndPlace) {
  const int two = 2;
  EXPECT_DEATH(FATHOM_CHECK(two == 3), "two == 3.*check_test");
}

TEST(Check, APassingCheckEvaluatesOnce) {
  int calls = 0;
  FATHOM_CHECK(++calls == 1);
  EXPECT_EQ(calls, 1);
}

}  // namespace

}  // namespace fathom

// The cheaper of two kernels, also when that changes. Read next: ops/kernel_choice.h.
#include "ops/kernel_choice.h"

#include <gtest/gtest.h>

namespace fathom::ops {
namespace {

// Runs `n` calls at these costs; gives how often the first kernel ran.
int run(KernelChoice& choice, int n, double first, double second) {
  int n_first = 0;
  for (int i = 0; i < n; ++i) {
    const int kernel = choice.next();
    n_first += kernel == 0 ? 1 : 0;
    choice.report(kernel, kernel == 0 ? first : second);
  }
  return n_first;
}

TEST(KernelChoice, TakesTheCheaperAndTriesTheOther) {
  KernelChoice choice;
  EXPECT_EQ(run(choice, 160, 1.0, 1.5), 149);
  KernelChoice other;
  EXPECT_EQ(run(other, 160, 1.5, 1.0), 11);
}

TEST(KernelChoice, FollowsAChange) {
  KernelChoice choice;
  run(choice, 160, 1.0, 1.5);
  run(choice, 64, 3.0, 1.5);
  EXPECT_LT(run(choice, 160, 3.0, 1.5), 20);
  run(choice, 64, 1.0, 1.5);
  EXPECT_GT(run(choice, 160, 1.0, 1.5), 140);
}

TEST(KernelChoice, OneInterruptedCallDoesNotDecide) {
  KernelChoice choice;
  run(choice, 160, 1.0, 1.5);
  const int kernel = choice.next();
  choice.report(kernel, kernel == 0 ? 1000.0 : 1.5);
  EXPECT_GE(run(choice, 16, 1.0, 1.5), 14);
}

}  // namespace
}  // namespace fathom::ops

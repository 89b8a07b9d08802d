// Which of two kernels that give the same bits is the faster one now. Tiles (AMX) are ahead of
// vectors on a quiet core and behind them while another virtual machine works on its sibling
// thread, which changes within seconds. Called by ops/cpu_matmul.cc.
#pragma once

#include <algorithm>

namespace fathom::ops {

// Keeps what each of the two has cost of late and tries the slower one now and then. One worker's.
class alignas(64) KernelChoice {
 public:
  // 0 or 1.
  int next() {
    ++n_calls_;
    const int faster = cost_[1] < cost_[0] ? 1 : 0;
    return n_calls_ % kTryEvery == 0 ? 1 - faster : faster;
  }

  // `cost`: of a unit of work, in any unit of time. One interrupted call must not decide.
  void report(int kernel, double cost) {
    double& known = cost_[kernel];
    const double change = std::min(cost, 2.0 * known) - known;
    known = known == 0.0 ? cost : known + change / (change < 0.0 ? kGoodMemory : kBadMemory);
  }

 private:
  static constexpr int kTryEvery = 16;
  // Calls that it takes to believe in something better or worse.
  static constexpr double kGoodMemory = 2.0;
  static constexpr double kBadMemory = 4.0;

  double cost_[2] = {0.0, 0.0};  // 0: never run, so it is the next
  int n_calls_ = 0;
};

}  // namespace fathom::ops

// Compile-time loops (a body called with 0, 1, .. n - 1 as constants) and prefetch.
// Called by every file of lanes/. Read next: lanes/avx512_lanes.h.
//
// Everything in lanes/ lies in an anonymous namespace on purpose: each instruction set compiles its
// own copy with its own flags, and no symbol of one copy may ever be linked into another.
#pragma once

namespace fathom::kernels {
namespace {

template <int kIndex>
struct Index {
  static constexpr int value = kIndex;
};

// fn(Index<0>), fn(Index<1>), .. fn(Index<kCount - 1>).
template <int kCount, int kFirst = 0, class Fn>
[[gnu::always_inline]] inline void unroll(Fn&& fn) {
  if constexpr (kFirst < kCount) {
    fn(Index<kFirst>{});
    unroll<kCount, kFirst + 1>(fn);
  }
}

// Calls fn(Index<n>) for the run-time n in 1..kMax.
template <int kMax, class Fn>
[[gnu::always_inline]] inline void with_constant(int n, Fn&& fn) {
  if constexpr (kMax > 0) {
    if (n == kMax) {
      fn(Index<kMax>{});
    } else {
      with_constant<kMax - 1>(n, fn);
    }
  }
}

// Asks for `bytes` from p on. Inlined by force: GCC takes a function that only prefetches for one
// without effect and drops the calls.
[[gnu::always_inline]] inline void prefetch_lines(const void* p, int bytes) {
  for (int i = 0; i < bytes; i += 64) {
    __builtin_prefetch(static_cast<const char*>(p) + i);
  }
}

// The same, no nearer than L2.
[[gnu::always_inline]] inline void prefetch_lines_l2(const void* p, int bytes) {
  for (int i = 0; i < bytes; i += 64) {
    __builtin_prefetch(static_cast<const char*>(p) + i, 0, 2);
  }
}

}  // namespace
}  // namespace fathom::kernels

// The kernel table of every instruction set of this CPU, and bit equality, for the *_isa_test
// files. Called by matmul_isa_test.cc, rows_isa_test.cc, attend_isa_test.cc.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "kernels/dispatch.h"
#include "kernels/table.h"

namespace fathom::kernels::isa_test {

struct IsaTable {
  std::string name;
  KernelTable table;
};

// Tables capped at each set above scalar that this CPU and this build have. No self-test: a wrong
// kernel must show here.
inline std::vector<IsaTable> tables_of_this_cpu() {
  std::vector<IsaTable> tables;
  const CpuFeatures features = detect_cpu();
  for (const KernelSet& set : built_sets()) {
    if (features.has(set.isa)) {
      tables.push_back(
          {std::string(name_of(set.isa)), make_dispatch(features, set.isa, false, false).table});
    }
  }
  return tables;
}

// The same bits, or both NaN.
inline bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// Index of the first difference, or -1.
inline int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

// Bytes on a 64-byte border.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size) : storage_(size + 64), size_(size) {}

  [[nodiscard]] std::byte* data() {
    void* p = storage_.data();
    size_t space = storage_.size();
    return static_cast<std::byte*>(std::align(64, size_, p, space));
  }

 private:
  std::vector<std::byte> storage_;
  size_t size_;
};

// Values of every magnitude: normal ones, zeros of both signs, denormals, large ones.
class Values {
 public:
  explicit Values(uint32_t seed) : random_(seed) {}

  uint32_t bits() { return random_(); }

  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  float plain() { return normal_(random_); }

  // `spread`: exponents -spread .. spread.
  float wide(int spread) {
    switch (integer(0, 15)) {
      case 0:
        return 0.0F;
      case 1:
        return -0.0F;
      default:
        return std::ldexp(plain(), integer(-spread, spread));
    }
  }

  float denormal() { return std::bit_cast<float>(bits() & 0x807FFFFFU); }

 private:
  std::mt19937 random_;
  std::normal_distribution<float> normal_;
};

}  // namespace fathom::kernels::isa_test

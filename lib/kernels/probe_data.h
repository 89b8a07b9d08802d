// Pseudo-random inputs and canonical outputs of the probes.
// Called by kernels/probe*.cc. Read next: kernels/probe.cc.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "kernels/entries.h"

namespace fathom::kernels {

// SplitMix64: the same numbers on every machine. Source: Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", 2014.
class ProbeRandom {
 public:
  explicit ProbeRandom(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, n).
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }

  // Uniform in (-magnitude, magnitude); every 16th is 0, every 64th 2^10 times as large.
  float value(float magnitude) {
    const uint64_t bits = next();
    const float unit =
        static_cast<float>(static_cast<int32_t>(bits & 0xFFFFFF) - 0x800000) * 0x1p-23F;
    const uint64_t kind = bits >> 32 & 63;
    return kind % 16 == 5 ? 0.0F : kind == 6 ? unit * magnitude * 1024.0F : unit * magnitude;
  }

  std::vector<float> values(int64_t n, float magnitude) {
    std::vector<float> out(static_cast<size_t>(n));
    for (float& x : out) {
      x = value(magnitude);
    }
    return out;
  }

 private:
  uint64_t state_;
};

// Zeroed bytes on a 64-byte boundary.
class AlignedBytes {
 public:
  explicit AlignedBytes(int64_t n) : store_(static_cast<size_t>(n) + kAlign, std::byte{0}) {
    const auto at = reinterpret_cast<uintptr_t>(store_.data());
    data_ = store_.data() + (kAlign - at % kAlign) % kAlign;
  }

  [[nodiscard]] std::byte* data() { return data_; }

 private:
  static constexpr size_t kAlign = 64;
  std::vector<std::byte> store_;
  std::byte* data_ = nullptr;
};

// Output words with -0 as +0 and one NaN.
class ProbeOutput {
 public:
  void add(float x) {
    const uint32_t bits = x == 0.0F ? 0U : std::bit_cast<uint32_t>(x);
    words.push_back(x != x ? 0x7FC00000U : bits);
  }

  void add(const std::vector<float>& xs) {
    for (const float x : xs) {
      add(x);
    }
  }

  void add_word(uint32_t word) { words.push_back(word); }

  std::vector<uint32_t> words;
};

// One function per source file; each handles the families named in it.
void probe_matmul(const Entry& entry, const KernelTable& table, ProbeOutput* out);
void probe_rows(const Entry& entry, const KernelTable& table, ProbeOutput* out);
void probe_attend(const Entry& entry, const KernelTable& table, ProbeOutput* out);
void probe_attend_options(const Entry& entry, const KernelTable& table, ProbeOutput* out);

}  // namespace fathom::kernels

// The vocabulary of lib/kernels/lanes in plain C++, as far as integer products of many rows need
// it: their templates run on every machine, and under every sanitizer. Called by
// model_tile_table.h. Its twins are lanes/avx512_lanes.h and vnni/dot.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace fathom::kernels::isa_test {

struct PlainLanes {
  struct F {
    float v[16];
  };

  struct I {
    int32_t v[16];
  };

  struct B {
    uint8_t v[64];
  };

  static constexpr int kVectors = 2;
  static constexpr int kIntRows = 2;
  static constexpr int kFloatRows = 2;
  static constexpr int kBothChains = 4;

  static F zero() { return {}; }

  static F set1(float x) {
    return map<F>([x](int) { return x; });
  }

  static F load(const float* p) { return copy<F>(p); }

  static void store(float* p, F x) { std::memcpy(p, x.v, sizeof x.v); }

  static F add(F a, F b) {
    return map<F>([&](int i) { return a.v[i] + b.v[i]; });
  }

  static F sub(F a, F b) {
    return map<F>([&](int i) { return a.v[i] - b.v[i]; });
  }

  static F mul(F a, F b) {
    return map<F>([&](int i) { return a.v[i] * b.v[i]; });
  }

  static F fma(F a, F b, F c) {
    return map<F>([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
  }

  static F from_bits(I a) { return std::bit_cast<F>(a); }

  struct M {
    bool v[16];
  };

  static F div(F a, F b) {
    return map<F>([&](int i) { return a.v[i] / b.v[i]; });
  }

  static I bits(F a) { return std::bit_cast<I>(a); }

  static M less(F a, F b) {
    return map<M>([&](int i) { return a.v[i] < b.v[i]; });
  }

  static F select(M m, F yes, F no) {
    return map<F>([&](int i) { return m.v[i] ? yes.v[i] : no.v[i]; });
  }

  static I to_int(F a) {
    return map<I>([&](int i) { return static_cast<int32_t>(std::nearbyint(a.v[i])); });
  }

  static I set1_int(int32_t x) {
    return map<I>([x](int) { return x; });
  }

  static I load_int(const void* p) { return copy<I>(p); }

  static I add_int(I a, I b) {
    return map<I>([&](int i) { return a.v[i] + b.v[i]; });
  }

  static I and_int(I a, I b) {
    return map<I>([&](int i) { return a.v[i] & b.v[i]; });
  }

  static I or_int(I a, I b) {
    return map<I>([&](int i) { return a.v[i] | b.v[i]; });
  }

  static void store_int(void* p, I x) { std::memcpy(p, x.v, sizeof x.v); }

  static I max_unsigned(I a, I b) {
    return map<I>([&](int i) {
      return static_cast<int32_t>(
          std::max(static_cast<uint32_t>(a.v[i]), static_cast<uint32_t>(b.v[i])));
    });
  }

  template <int kBits>
  static I shl(I a) {
    return map<I>(
        [&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) << kBits); });
  }

  static F load_f16(const std::byte* p) {
    return map<F>([p](int i) {
      uint16_t half;
      std::memcpy(&half, p + ptrdiff_t{2} * i, sizeof half);
      return f16_to_f32(half);
    });
  }

  static void store_bf16(void* p, F low, F high) {
    for (int i = 0; i < 32; ++i) {
      const uint16_t half = f32_to_bf16(i < 16 ? low.v[i] : high.v[i - 16]);
      std::memcpy(static_cast<std::byte*>(p) + ptrdiff_t{2} * i, &half, sizeof half);
    }
  }

  static I load_u8_int(const void* p) {
    return map<I>([p](int i) { return int32_t{static_cast<const uint8_t*>(p)[i]}; });
  }

  static F load_u8(const void* p) {
    return map<F>([p](int i) { return static_cast<float>(static_cast<const uint8_t*>(p)[i]); });
  }

  static F load_i8(const void* p) {
    return map<F>([p](int i) { return static_cast<float>(static_cast<const int8_t*>(p)[i]); });
  }

  static B load_bytes(const void* p) { return copy<B>(p); }

  static void store_bytes(void* p, B x) { std::memcpy(p, x.v, sizeof x.v); }

  static B set1_byte(int x) {
    B all;
    std::memset(all.v, x, sizeof all.v);
    return all;
  }

  static B and_bytes(B a, B b) {
    return map<B>([&](int i) { return static_cast<uint8_t>(a.v[i] & b.v[i]); });
  }

  static B sub_bytes(B a, B b) {
    return map<B>([&](int i) { return static_cast<uint8_t>(a.v[i] - b.v[i]); });
  }

  static B or_masked(B a, B b, B mask) {
    return map<B>([&](int i) { return static_cast<uint8_t>(a.v[i] | (b.v[i] & mask.v[i])); });
  }

  // Lanes of 16 bits; kBits < 0 shifts right.
  template <int kBits>
  static B shift(B a) {
    B out;
    for (int i = 0; i < 64; i += 2) {
      uint16_t lane;
      std::memcpy(&lane, a.v + i, sizeof lane);
      lane = static_cast<uint16_t>(kBits < 0 ? lane >> std::abs(kBits) : lane << std::abs(kBits));
      std::memcpy(out.v + i, &lane, sizeof lane);
    }
    return out;
  }

  static B set1_word(int x) {
    return words(B{}, B{}, [x](int16_t, int16_t) { return x; });
  }

  static B add_words(B a, B b) {
    return words(a, b, [](int16_t x, int16_t y) { return x + y; });
  }

  static B mul_words(B a, B b) {
    return words(a, b, [](int16_t x, int16_t y) { return (x * y + (1 << 14)) >> 15; });
  }

  static B add_bit(B a, const std::byte* p, B bit) {
    uint64_t mask;
    std::memcpy(&mask, p, sizeof mask);
    return map<B>(
        [&](int i) { return static_cast<uint8_t>(a.v[i] + ((mask >> i & 1U) * bit.v[i])); });
  }

  static B look_up(const uint8_t* table, B a) {
    return map<B>([&](int i) { return table[a.v[i]]; });
  }

  static B set1_quad(const int8_t* p) {
    return map<B>([p](int i) { return static_cast<uint8_t>(p[i % 4]); });
  }

 private:
  template <class Fn>
  static B words(B a, B b, Fn fn) {
    B out;
    for (int i = 0; i < 64; i += 2) {
      int16_t x;
      int16_t y;
      std::memcpy(&x, a.v + i, sizeof x);
      std::memcpy(&y, b.v + i, sizeof y);
      const auto word = static_cast<int16_t>(fn(x, y));
      std::memcpy(out.v + i, &word, sizeof word);
    }
    return out;
  }

  template <class V, class Fn>
  static V map(Fn fn) {
    V out;
    for (int i = 0; i < static_cast<int>(std::size(out.v)); ++i) {
      out.v[i] = fn(i);
    }
    return out;
  }

  template <class V>
  static V copy(const void* p) {
    V out;
    std::memcpy(out.v, p, sizeof out.v);
    return out;
  }
};

// start + the sum over steps of unsigned codes times signed activations.
struct PlainDot {
  static constexpr bool kIsSigned = false;
  PlainLanes::I sum;

  static PlainLanes::B prepare(PlainLanes::B codes) { return codes; }

  void init(int32_t start) { sum = PlainLanes::set1_int(start); }

  void add(int /*step*/, PlainLanes::B codes, PlainLanes::B activations) {
    for (int i = 0; i < 64; ++i) {
      sum.v[i / 4] += codes.v[i] * static_cast<int8_t>(activations.v[i]);
    }
  }

  [[nodiscard]] PlainLanes::I finish(int32_t /*start*/) const { return sum; }
};

// The same over re-scaled weights.
struct PlainCoarseDot {
  static constexpr bool kIsSigned = false;
  static constexpr int kRows = 3;
  PlainDot dot;

  void init(int32_t start) { dot.init(start); }

  void add(PlainLanes::B codes, PlainLanes::B activations) { dot.add(0, codes, activations); }

  [[nodiscard]] PlainLanes::I finish() const { return dot.sum; }
};

}  // namespace fathom::kernels::isa_test

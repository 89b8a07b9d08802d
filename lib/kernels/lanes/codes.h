// The codes of a packed tile as vectors of unsigned bytes: 16 rows x 4 k each.
// Called by lanes/weights.h. Read next: quant/packed.h (the sections), lanes/weights.h.
//
// pair<v>(b, lo, hi) gives code vectors v and v + 4 of block b, v = 0..3: k = 4v.. and 16 + 4v..;
// nibbles hold the two in one byte. Costs are instructions for the pair, one register wide.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::kernels {
namespace {

// Q4_0, Q4_1, Q4_K, I4_GROUP. load, and, shift, and.
template <class L>
struct NibbleCodes {
  static constexpr int kBits = 4;
  static constexpr int kBlockBytes = 256;
  static constexpr int kHighBytes = 0;
  const std::byte* codes;
  const std::byte* high;

  template <int kV>
  void pair(int b, typename L::B& lo, typename L::B& hi) const {
    const auto low = L::set1_byte(15);
    const auto w = L::load_bytes(codes + b * kBlockBytes + kV * 64);
    lo = L::and_bytes(w, low);
    hi = L::and_bytes(L::template shift<-4>(w), low);
  }
};

// Q5_0, Q5_1, Q5_K: the fifth bit lies in 64-bit masks, 8 to a block.
template <class L>
struct Nibble1Codes {
  static constexpr int kBits = 5;
  static constexpr int kBlockBytes = 256;
  static constexpr int kHighBytes = 64;
  const std::byte* codes;
  const std::byte* high;

  template <int kV>
  void pair(int b, typename L::B& lo, typename L::B& hi) const {
    const auto bit = L::set1_byte(16);
    const std::byte* mask = high + b * kHighBytes + kV * 8;
    NibbleCodes<L>{codes, nullptr}.template pair<kV>(b, lo, hi);
    lo = L::add_bit(lo, mask, bit);
    hi = L::add_bit(hi, mask + 32, bit);
  }
};

// Q6_K: the two high bits are field v of two byte vectors.
template <class L>
struct Nibble2Codes {
  static constexpr int kBits = 6;
  static constexpr int kBlockBytes = 256;
  static constexpr int kHighBytes = 128;
  const std::byte* codes;
  const std::byte* high;

  template <int kV>
  void pair(int b, typename L::B& lo, typename L::B& hi) const {
    const auto field = L::set1_byte(0x30);
    const std::byte* h = high + b * kHighBytes;
    NibbleCodes<L>{codes, nullptr}.template pair<kV>(b, lo, hi);
    lo = L::or_masked(lo, L::template shift<4 - 2 * kV>(L::load_bytes(h)), field);
    hi = L::or_masked(hi, L::template shift<4 - 2 * kV>(L::load_bytes(h + 64)), field);
  }
};

// Q2_K: 2-bit codes, field v of two byte vectors.
template <class L>
struct TwoBitCodes {
  static constexpr int kBits = 4;  // fewer, and safe to sum as 4
  static constexpr int kBlockBytes = 128;
  static constexpr int kHighBytes = 0;
  const std::byte* codes;
  const std::byte* high;

  template <int kV>
  void pair(int b, typename L::B& lo, typename L::B& hi) const {
    const auto low = L::set1_byte(3);
    const std::byte* c = codes + b * kBlockBytes;
    lo = L::and_bytes(L::template shift<-2 * kV>(L::load_bytes(c)), low);
    hi = L::and_bytes(L::template shift<-2 * kV>(L::load_bytes(c + 64)), low);
  }
};

// Q3_K: 2-bit codes and a third bit in masks.
template <class L>
struct ThreeBitCodes {
  static constexpr int kBits = 4;
  static constexpr int kBlockBytes = 128;
  static constexpr int kHighBytes = 64;
  const std::byte* codes;
  const std::byte* high;

  template <int kV>
  void pair(int b, typename L::B& lo, typename L::B& hi) const {
    const auto bit = L::set1_byte(4);
    const std::byte* mask = high + b * kHighBytes + kV * 8;
    TwoBitCodes<L>{codes, nullptr}.template pair<kV>(b, lo, hi);
    lo = L::add_bit(lo, mask, bit);
    hi = L::add_bit(hi, mask + 32, bit);
  }
};

// Q8_0: whole bytes, code + 128; I8_GROUP: the code.
template <class L>
struct ByteCodes {
  static constexpr int kBits = 8;
  static constexpr int kBlockBytes = 512;
  static constexpr int kHighBytes = 0;
  const std::byte* codes;
  const std::byte* high;

  template <int kV>
  void pair(int b, typename L::B& lo, typename L::B& hi) const {
    lo = L::load_bytes(codes + b * kBlockBytes + kV * 64);
    hi = L::load_bytes(codes + b * kBlockBytes + (kV + 4) * 64);
  }
};

// IQ4_NL, IQ4_XS: nibbles index a code book of 16 values, held + 128.
template <class L>
struct BookCodes {
  static constexpr int kBits = 8;
  static constexpr int kBlockBytes = 256;
  static constexpr int kHighBytes = 0;
  const std::byte* codes;
  const std::byte* high;

  template <int kV>
  void pair(int b, typename L::B& lo, typename L::B& hi) const {
    // -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113, each + 128
    static constexpr uint8_t kBook[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                          129, 141, 153, 166, 181, 197, 217, 241};
    NibbleCodes<L>{codes, nullptr}.template pair<kV>(b, lo, hi);
    lo = L::look_up(kBook, lo);
    hi = L::look_up(kBook, hi);
  }
};

// MXFP4: nibbles index twice the E2M1 values, held + 12.
template <class L>
struct E2M1Codes {
  static constexpr int kBits = 5;  // 0..24
  static constexpr int kBlockBytes = 256;
  static constexpr int kHighBytes = 0;
  const std::byte* codes;
  const std::byte* high;

  template <int kV>
  void pair(int b, typename L::B& lo, typename L::B& hi) const {
    // 0 1 2 3 4 6 8 12 and their negatives, each + 12
    static constexpr uint8_t kBook[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                          12, 11, 10, 9,  8,  6,  4,  0};
    NibbleCodes<L>{codes, nullptr}.template pair<kV>(b, lo, hi);
    lo = L::look_up(kBook, lo);
    hi = L::look_up(kBook, hi);
  }
};

}  // namespace
}  // namespace fathom::kernels

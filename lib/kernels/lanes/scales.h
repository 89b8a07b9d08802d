// The scales of a packed tile as vectors of 16 rows: sw = d * sub-scale and -mw, both exact in f32.
// Called by lanes/weights.h. Read next: quant/packed.h (the sections), docs/numbers.md.
//
// A reader is opened on a tile of nb 32-blocks; scale(u) and offset(u) belong to scale group u of
// the tile: its 32-block, or its 16-group where kGroupK is 16. bytes(nb) is where the codes start.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::kernels {
namespace {

// How the exact sum acc of codes times activations becomes rn(acc * sw), see docs/numbers.md.
enum class Conversion {
  kShifted,  // sw has at most 21 bits and is at most 2^100: one fma
  kPlain,    // any sw: acc as a float, times sw
  kZeros,    // the same, after the zero points of 16 rows times the sum of activations
};

constexpr int up_to_line(int bytes) {
  return (bytes + 63) / 64 * 64;
}

// f16 [nb][16]: Q4_0, Q5_0, Q8_0, IQ4_NL.
template <class L>
struct BlockScales {
  static constexpr int kGroupK = 32;
  static constexpr bool kHasMin = false;
  static constexpr Conversion kConversion = Conversion::kShifted;

  static constexpr int bytes(int nb) { return up_to_line(nb * 32); }

  BlockScales(const std::byte* tile, int /*nb*/) : tile_(tile) {}

  typename L::F scale(int u) const { return L::load_f16(tile_ + u * 32); }

  typename L::F offset(int /*u*/) const { return L::zero(); }

 private:
  const std::byte* tile_;
};

// f16 scales [nb][16], f16 minima [nb][16] (value = d * code + m): Q4_1, Q5_1.
template <class L>
struct BlockScalesMins {
  static constexpr int kGroupK = 32;
  static constexpr bool kHasMin = true;
  static constexpr Conversion kConversion = Conversion::kShifted;

  static constexpr int bytes(int nb) { return 2 * up_to_line(nb * 32); }

  BlockScalesMins(const std::byte* tile, int nb) : tile_(tile), mins_(tile + bytes(nb) / 2) {}

  typename L::F scale(int u) const { return L::load_f16(tile_ + u * 32); }

  typename L::F offset(int u) const { return L::load_f16(mins_ + u * 32); }

 private:
  const std::byte* tile_;
  const std::byte* mins_;
};

// 256 six-bit values from three 64-byte vectors, the fourth quarter from their top bits.
template <class L>
void unpack6(const std::byte* section, uint8_t* out) {
  const auto low = L::set1_byte(63);
  const auto a = L::load_bytes(section);
  const auto b = L::load_bytes(section + 64);
  const auto c = L::load_bytes(section + 128);
  L::store_bytes(out, L::and_bytes(a, low));
  L::store_bytes(out + 64, L::and_bytes(b, low));
  L::store_bytes(out + 128, L::and_bytes(c, low));
  auto top = L::and_bytes(L::template shift<-6>(a), L::set1_byte(3));
  top = L::or_masked(top, L::template shift<-4>(b), L::set1_byte(12));
  L::store_bytes(out + 192, L::or_masked(top, L::template shift<-2>(c), L::set1_byte(48)));
}

// f16 d [16], dmin [16] in one line, six-bit scales [8][16] and minima [8][16]: Q4_K, Q5_K.
template <class L>
struct SixBitScalesMins {
  static constexpr int kGroupK = 32;
  static constexpr bool kHasMin = true;
  static constexpr Conversion kConversion = Conversion::kShifted;

  static constexpr int bytes(int /*nb*/) { return 64 + 192; }

  SixBitScalesMins(const std::byte* tile, int /*nb*/)
      : d_(L::load_f16(tile)), minus_dmin_(L::sub(L::zero(), L::load_f16(tile + 32))) {
    unpack6<L>(tile + 64, sub_);
  }

  typename L::F scale(int u) const { return L::mul(d_, L::load_u8(sub_ + u * 16)); }

  typename L::F offset(int u) const { return L::mul(minus_dmin_, L::load_u8(sub_ + 128 + u * 16)); }

 private:
  typename L::F d_;
  typename L::F minus_dmin_;
  alignas(64) uint8_t sub_[256];
};

// f16 d [16], six-bit scales + 32 [16 groups][16]: Q3_K.
template <class L>
struct SixBitScales {
  static constexpr int kGroupK = 16;
  static constexpr bool kHasMin = false;
  static constexpr Conversion kConversion = Conversion::kShifted;

  static constexpr int bytes(int /*nb*/) { return 64 + 192; }

  SixBitScales(const std::byte* tile, int /*nb*/) : d_(L::load_f16(tile)) {
    unpack6<L>(tile + 64, sub_);
  }

  typename L::F scale(int u) const {
    return L::mul(d_, L::sub(L::load_u8(sub_ + u * 16), L::set1(32.0F)));
  }

  typename L::F offset(int /*u*/) const { return L::zero(); }

 private:
  typename L::F d_;
  alignas(64) uint8_t sub_[256];
};

// f16 d [16], int8 scales [16 groups][16]: Q6_K.
template <class L>
struct SignedScales {
  static constexpr int kGroupK = 16;
  static constexpr bool kHasMin = false;
  static constexpr Conversion kConversion = Conversion::kShifted;

  static constexpr int bytes(int /*nb*/) { return 64 + 256; }

  SignedScales(const std::byte* tile, int /*nb*/) : d_(L::load_f16(tile)), sub_(tile + 64) {}

  typename L::F scale(int u) const { return L::mul(d_, L::load_i8(sub_ + u * 16)); }

  typename L::F offset(int /*u*/) const { return L::zero(); }

 private:
  typename L::F d_;
  const std::byte* sub_;
};

// f16 d [16], dmin [16] in one line, bytes scale | minimum << 4 [16 groups][16]: Q2_K.
template <class L>
struct NibbleScalesMins {
  static constexpr int kGroupK = 16;
  static constexpr bool kHasMin = true;
  static constexpr Conversion kConversion = Conversion::kShifted;

  static constexpr int bytes(int /*nb*/) { return 64 + 256; }

  NibbleScalesMins(const std::byte* tile, int /*nb*/)
      : d_(L::load_f16(tile)), minus_dmin_(L::sub(L::zero(), L::load_f16(tile + 32))) {
    const auto low = L::set1_byte(15);
    for (int i = 0; i < 256; i += 64) {
      const auto both = L::load_bytes(tile + 64 + i);
      L::store_bytes(scales_ + i, L::and_bytes(both, low));
      L::store_bytes(mins_ + i, L::and_bytes(L::template shift<-4>(both), low));
    }
  }

  typename L::F scale(int u) const { return L::mul(d_, L::load_u8(scales_ + u * 16)); }

  typename L::F offset(int u) const { return L::mul(minus_dmin_, L::load_u8(mins_ + u * 16)); }

 private:
  typename L::F d_;
  typename L::F minus_dmin_;
  alignas(64) uint8_t scales_[256];
  alignas(64) uint8_t mins_[256];
};

// f16 d [16], bytes scale + 32 [8][16]: IQ4_XS.
template <class L>
struct ByteScales {
  static constexpr int kGroupK = 32;
  static constexpr bool kHasMin = false;
  static constexpr Conversion kConversion = Conversion::kShifted;

  static constexpr int bytes(int /*nb*/) { return 64 + 128; }

  ByteScales(const std::byte* tile, int /*nb*/) : d_(L::load_f16(tile)), sub_(tile + 64) {}

  typename L::F scale(int u) const {
    return L::mul(d_, L::sub(L::load_u8(sub_ + u * 16), L::set1(32.0F)));
  }

  typename L::F offset(int /*u*/) const { return L::zero(); }

 private:
  typename L::F d_;
  const std::byte* sub_;
};

// u8 [nb][16], exponents whose halves are the scales: MXFP4.
template <class L>
struct ExponentScales {
  static constexpr int kGroupK = 32;
  static constexpr bool kHasMin = false;
  static constexpr Conversion kConversion = Conversion::kPlain;

  static constexpr int bytes(int nb) { return up_to_line(nb * 16); }

  ExponentScales(const std::byte* tile, int /*nb*/) : tile_(tile) {}

  // 2^(e - 127) by its bits, of which e = 0 is the subnormal 0x400000; halving is exact.
  typename L::F scale(int u) const {
    const auto e = L::load_u8_int(tile_ + u * 16);
    const auto bits = L::max_unsigned(L::template shl<23>(e), L::set1_int(0x400000));
    return L::mul(L::from_bits(bits), L::set1(0.5F));
  }

  typename L::F offset(int /*u*/) const { return L::zero(); }

 private:
  const std::byte* tile_;
};

// f32 scales [nb][16], u8 zero points [nb][16]: I4_GROUP, I8_GROUP.
template <class L>
struct GroupScales {
  static constexpr int kGroupK = 32;
  static constexpr bool kHasMin = false;
  static constexpr Conversion kConversion = Conversion::kZeros;

  static constexpr int bytes(int nb) { return nb * 64 + up_to_line(nb * 16); }

  GroupScales(const std::byte* tile, int nb)
      : scales_(reinterpret_cast<const float*>(tile)), zeros_(tile + nb * 64) {}

  typename L::F scale(int u) const { return L::load(scales_ + u * 16); }

  typename L::F offset(int /*u*/) const { return L::zero(); }

  // bias - zero; `bias`: what the dot product takes off the codes.
  typename L::F minus_zero(int u, float bias) const {
    return L::sub(L::set1(bias), L::load_u8(zeros_ + u * 16));
  }

 private:
  const float* scales_;
  const std::byte* zeros_;
};

}  // namespace
}  // namespace fathom::kernels

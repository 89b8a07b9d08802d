// Every integer weight type as a pair of readers, codes and scales, and its zero point.
// Called by lanes/gemv.h, lanes/gemm.h. Read next: lanes/codes.h, lanes/scales.h.
#pragma once

#include "base/dtype.h"
#include "kernels/lanes/codes.h"
#include "kernels/lanes/scales.h"

namespace fathom::kernels {
namespace {

// value = scale * (code - kZero) + offset; the codes section follows the scales, high bits follow
// it. Types of Conversion::kZeros have kZero = 0 and zero points beside the scales.
template <class Lanes, DType kType, template <class> class CodesOf, template <class> class ScalesOf,
          int kZeroPoint>
struct Weight {
  using L = Lanes;
  using Codes = CodesOf<L>;
  using Scales = ScalesOf<L>;
  static constexpr DType kDType = kType;
  static constexpr int kZero = kZeroPoint;
  static constexpr int kBits = Codes::kBits;
  static constexpr int kGroupK = Scales::kGroupK;
  static constexpr bool kHasMin = Scales::kHasMin;
  static constexpr Conversion kConversion = Scales::kConversion;
  static constexpr int kGroupsOfBlock = 32 / kGroupK;

  static constexpr int tile_bytes(int nb) {
    return Scales::bytes(nb) + up_to_line(nb * Codes::kBlockBytes) +
           up_to_line(nb * Codes::kHighBytes);
  }

  // A tile of nb blocks, opened for reading.
  struct Tile {
    Scales scales;
    Codes codes;

    Tile(const std::byte* tile, int nb)
        : scales(tile, nb),
          codes{tile + Scales::bytes(nb),
                tile + Scales::bytes(nb) + up_to_line(nb * Codes::kBlockBytes)} {}
  };
};

template <class L>
using Q4_0 = Weight<L, DType::kQ4_0, NibbleCodes, BlockScales, 8>;
template <class L>
using Q4_1 = Weight<L, DType::kQ4_1, NibbleCodes, BlockScalesMins, 0>;
template <class L>
using Q5_0 = Weight<L, DType::kQ5_0, Nibble1Codes, BlockScales, 16>;
template <class L>
using Q5_1 = Weight<L, DType::kQ5_1, Nibble1Codes, BlockScalesMins, 0>;
template <class L>
using Q8_0 = Weight<L, DType::kQ8_0, ByteCodes, BlockScales, 128>;
template <class L>
using Q2_K = Weight<L, DType::kQ2_K, TwoBitCodes, NibbleScalesMins, 0>;
template <class L>
using Q3_K = Weight<L, DType::kQ3_K, ThreeBitCodes, SixBitScales, 4>;
template <class L>
using Q4_K = Weight<L, DType::kQ4_K, NibbleCodes, SixBitScalesMins, 0>;
template <class L>
using Q5_K = Weight<L, DType::kQ5_K, Nibble1Codes, SixBitScalesMins, 0>;
template <class L>
using Q6_K = Weight<L, DType::kQ6_K, Nibble2Codes, SignedScales, 32>;
template <class L>
using IQ4_NL = Weight<L, DType::kIQ4_NL, BookCodes, BlockScales, 128>;
template <class L>
using IQ4_XS = Weight<L, DType::kIQ4_XS, BookCodes, ByteScales, 128>;

template <class L>
using MXFP4 = Weight<L, DType::kMXFP4, E2M1Codes, ExponentScales, 12>;
template <class L>
using I4Group = Weight<L, DType::kI4Group, NibbleCodes, GroupScales, 0>;
template <class L>
using I8Group = Weight<L, DType::kI8Group, ByteCodes, GroupScales, 0>;

template <class W>
struct TypeTag {
  using Type = W;
};

// fill(TypeTag<W>{}) for every integer type W over the lanes L: the one list of them.
template <class L, class Fill>
void for_each_type(Fill fill) {
  fill(TypeTag<Q4_0<L>>{});
  fill(TypeTag<Q4_1<L>>{});
  fill(TypeTag<Q5_0<L>>{});
  fill(TypeTag<Q5_1<L>>{});
  fill(TypeTag<Q8_0<L>>{});
  fill(TypeTag<Q2_K<L>>{});
  fill(TypeTag<Q3_K<L>>{});
  fill(TypeTag<Q4_K<L>>{});
  fill(TypeTag<Q5_K<L>>{});
  fill(TypeTag<Q6_K<L>>{});
  fill(TypeTag<IQ4_NL<L>>{});
  fill(TypeTag<IQ4_XS<L>>{});
  fill(TypeTag<MXFP4<L>>{});
  fill(TypeTag<I4Group<L>>{});
  fill(TypeTag<I8Group<L>>{});
}

}  // namespace
}  // namespace fathom::kernels

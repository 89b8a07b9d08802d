// Series in double with explicit fma, after an exact argument reduction.
// Called by ops and model (rope tables). Read next: tests/lib/base/det_math_test.cc.
#include "base/det_math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fathom {

namespace {

// Adding and subtracting 1.5 * 2^52 rounds a double below 2^51 to the nearest integer, ties to
// even.
constexpr double kRoundMagic = 0x1.8p52;

double round_to_integer(double x) {
  return (x + kRoundMagic) - kRoundMagic;
}

// pi/2 and ln 2 as sums of two doubles.
constexpr double kHalfPiHigh = 0x1.921fb54442d18p0;
constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 33 bits: n * kLn2High is exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep0;

// c[0] + x * (c[1] + x * (...)).
template <size_t kCount>
double horner(const std::array<double, kCount>& c, double x) {
  double sum = c[kCount - 1];
  for (size_t i = kCount - 1; i > 0; --i) {
    sum = std::fma(sum, x, c[i - 1]);
  }
  return sum;
}

// Taylor series; on |r| <= pi/4 the first omitted term is below 5e-17.
double sin_series(double r) {
  static constexpr std::array<double, 7> kC = {
      -1.0 / 6.0,        1.0 / 120.0,        -1.0 / 5040.0,         1.0 / 362880.0,
      -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
  const double z = r * r;
  return std::fma(r * z, horner(kC, z), r);
}

double cos_series(double r) {
  static constexpr std::array<double, 8> kC = {
      -1.0 / 2.0,       1.0 / 24.0,        -1.0 / 720.0,         1.0 / 40320.0,
      -1.0 / 3628800.0, 1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
  const double z = r * r;
  return std::fma(z, horner(kC, z), 1.0);
}

}  // namespace

SinCos sin_cos_f32(float angle) {
  const auto x = static_cast<double>(angle);
  if (!(std::fabs(x) <= 0x1p40)) {  // Inf, NaN, or far outside any position
    const double nan = x - x == 0.0 ? std::bit_cast<double>(0x7FF8000000000000ULL) : x - x;
    return {static_cast<float>(nan), static_cast<float>(nan)};
  }
  const double n = round_to_integer(x * kTwoOverPi);
  const double r = std::fma(-n, kHalfPiLow, std::fma(-n, kHalfPiHigh, x));
  const double s = sin_series(r);
  const double c = cos_series(r);
  switch (static_cast<int64_t>(n) & 3) {  // the quadrant
    case 0:
      return {static_cast<float>(s), static_cast<float>(c)};
    case 1:
      return {static_cast<float>(c), static_cast<float>(-s)};
    case 2:
      return {static_cast<float>(-s), static_cast<float>(-c)};
    default:
      return {static_cast<float>(-c), static_cast<float>(s)};
  }
}

double det_log(double x) {
  // x = m * 2^k with m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh(t), t = (m - 1) / (m + 1).
  const auto bits = std::bit_cast<uint64_t>(x);
  constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCDULL;
  const auto k = static_cast<int64_t>(bits - kSqrtHalf) >> 52;
  const auto m = std::bit_cast<double>(bits - (static_cast<uint64_t>(k) << 52));
  const double f = m - 1.0;  // exact
  const double t = f / (m + 1.0);
  static constexpr std::array<double, 11> kC = {2.0 / 3.0,  2.0 / 5.0,  2.0 / 7.0,  2.0 / 9.0,
                                                2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0,
                                                2.0 / 19.0, 2.0 / 21.0, 2.0 / 23.0};
  const double z = t * t;
  // 2t = f - t * f, so log(m) = f - t * (f - z * series) loses nothing of f's own digits.
  const double log_m = f - t * (f - z * horner(kC, z));
  const auto n = static_cast<double>(k);
  return std::fma(n, kLn2High, std::fma(n, kLn2Low, log_m));
}

namespace {

// (e^r - 1) / r
constexpr std::array<double, 13> kExpSeries = {1.0,
                                               1.0 / 2.0,
                                               1.0 / 6.0,
                                               1.0 / 24.0,
                                               1.0 / 120.0,
                                               1.0 / 720.0,
                                               1.0 / 5040.0,
                                               1.0 / 40320.0,
                                               1.0 / 362880.0,
                                               1.0 / 3628800.0,
                                               1.0 / 39916800.0,
                                               1.0 / 479001600.0,
                                               1.0 / 6227020800.0};
constexpr double kSmallestExponent = -87.0;

}  // namespace

double det_exp(double x) {
  const double n = round_to_integer(x * kLog2E);
  const double r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  const double p = std::fma(r, horner(kExpSeries, r), 1.0);
  const auto scale =
      std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(n) + 1023) << 52);
  return p * scale;
}

namespace {

void exp_one_by_one(const double* x, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[i] >= kSmallestExponent ? det_exp(x[i]) : 0.0;
  }
}

#if defined(__x86_64__)
// The steps of det_exp in four lanes; n / 4 * 4 values.
__attribute__((target("avx2,fma"))) void exp_by_fours(const double* x, int64_t n, double* y) {
  const __m256d magic = _mm256_set1_pd(kRoundMagic);
  for (int64_t i = 0; i + 4 <= n; i += 4) {
    const __m256d v = _mm256_loadu_pd(x + i);
    const __m256d seen = _mm256_cmp_pd(v, _mm256_set1_pd(kSmallestExponent), _CMP_GE_OQ);
    // its lowest bits are the rounded integer
    const __m256d shifted = _mm256_add_pd(_mm256_mul_pd(v, _mm256_set1_pd(kLog2E)), magic);
    const __m256d m = _mm256_sub_pd(shifted, magic);
    __m256d r = _mm256_fnmadd_pd(m, _mm256_set1_pd(kLn2High), v);
    r = _mm256_fnmadd_pd(m, _mm256_set1_pd(kLn2Low), r);
    __m256d sum = _mm256_set1_pd(kExpSeries.back());
    for (size_t c = kExpSeries.size() - 1; c > 0; --c) {
      sum = _mm256_fmadd_pd(sum, r, _mm256_set1_pd(kExpSeries[c - 1]));
    }
    const __m256d p = _mm256_fmadd_pd(r, sum, _mm256_set1_pd(1.0));
    const __m256i exponent =
        _mm256_add_epi64(_mm256_castpd_si256(shifted), _mm256_set1_epi64x(1023));
    const __m256d scale = _mm256_castsi256_pd(_mm256_slli_epi64(exponent, 52));
    _mm256_storeu_pd(y + i, _mm256_and_pd(_mm256_mul_pd(p, scale), seen));
  }
}
#endif

}  // namespace

void det_exp_many(const double* x, int64_t n, double* y) {
  int64_t done = 0;
#if defined(__x86_64__)
  static const bool kHasFma = detect_cpu().avx2;
  if (kHasFma) {
    exp_by_fours(x, n, y);
    done = n / 4 * 4;
  }
#endif
  exp_one_by_one(x + done, n - done, y + done);
}

double det_pow(double base, double exponent) {
  const double log_base = det_log(base);
  const double product = exponent * log_base;
  const double rest = std::fma(exponent, log_base, -product);  // what the product lost
  const double power = det_exp(product);
  return std::fma(power, rest, power);
}

}  // namespace fathom

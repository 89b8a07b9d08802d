// Logarithm, power, sine and cosine without libm, for tables: the same bits on every machine.
// Called by ops and model (rope tables), sample (weights of candidates). Read next:
// docs/numbers.md, "Rope".
#pragma once

#include <cstdint>

namespace fathom {

struct SinCos {
  float sin = 0.0F;
  float cos = 0.0F;
};

// Sine and cosine of exactly this f32 (radians), computed in double and rounded once: within 0.51
// ulp for |angle| <= 2^30. Inf and NaN give NaN.
SinCos sin_cos_f32(float angle);

// Natural logarithm of a positive normal double; relative error below 1e-15 away from x = 1,
// absolute error below 3e-16 near it.
double det_log(double x);

// e^x for |x| <= 700; relative error below 1e-15.
double det_exp(double x);

// y[n] = det_exp(x[i]), the same bits, for x in [-87, 0]; below that and for NaN 0. x and y may be
// the same. Four at a time where the CPU has AVX2 and FMA: without FMA in hardware, each of a
// value's 14 steps is a call.
void det_exp_many(const double* x, int64_t n, double* y);

// base^exponent for base > 0 and |exponent * log(base)| <= 700; relative error below 1e-14 while
// |exponent * log(base)| <= 30, which covers every rope base.
double det_pow(double base, double exponent);

}  // namespace fathom

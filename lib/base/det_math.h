// Logarithm, power, sine and cosine without libm, for tables: the same bits on every machine.
// Called by ops and model (rope tables), never in a hot loop. Read next: docs/numbers.md, "Rope".
#pragma once

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

// base^exponent for base > 0 and |exponent * log(base)| <= 700; relative error below 1e-14 while
// |exponent * log(base)| <= 30, which covers every rope base.
double det_pow(double base, double exponent);

}  // namespace fathom

// exp, tanh, erf and the activations in f32: the definition that every instruction set repeats in
// lanes. Called by scalar/rows, scalar/attend. Read next: kernels/math_constants.h,
// docs/numbers.md.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels::scalar {

// Within 2 ulp; exp(0) = 1; below -87: +0; above 88.72283: +Inf; NaN gives NaN.
float exp_f32(float x) noexcept;

// Within 2 ulp; odd, tanh(-0) = -0.
float tanh_f32(float x) noexcept;

// Within 2 ulp; odd.
float erf_f32(float x) noexcept;

// The activation of one value.
float activate(Activation activation, float x) noexcept;

}  // namespace fathom::kernels::scalar

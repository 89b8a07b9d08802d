// Coefficients of exp, tanh and erf: one list for every instruction set, fitted by
// tools/fit_math.py. Called by kernels/scalar/math.cc and the vector sets. Read next:
// docs/numbers.md, "Functions".
#pragma once

namespace fathom::kernels {

// exp(x) = 2^n * (1 + r * (1 + r * E(r))), n = rint(x log2 e), r = x - n ln 2.
inline constexpr float kExpMin = -87.0F;          // below: +0
inline constexpr float kExpMax = 0x1.62e42ep+6F;  // 88.72283: above: +Inf
inline constexpr float kLog2E = 0x1.715476p+0F;
inline constexpr float kRoundMagic = 12582912.0F;  // 1.5 * 2^23; bits 0x4B400000
inline constexpr float kLn2High = 0x1.62e4p-1F;    // 15 bits: n * kLn2High is exact
inline constexpr float kLn2Low = 0x1.7f7d1cp-20F;
inline constexpr float kExpC[5] = {0x1.fffffcp-2F, 0x1.555490p-3F, 0x1.5558f4p-5F, 0x1.123a6cp-7F,
                                   0x1.6a2346p-10F};

// |x| < kTanhSmall: tanh(x) = x + x * (z * T(z)), z = x^2; else 1 - 2 / (exp(2|x|) + 1).
inline constexpr float kTanhSmall = 0.625F;
inline constexpr float kTanhC[5] = {-0x1.555532p-2F, 0x1.110726p-3F, -0x1.b83c58p-5F,
                                    0x1.522692p-6F, -0x1.75e1a4p-8F};

// |x| < kErfSmall: erf(x) = x + x * S(x^2); else, t = min(|x|, kErfEnd): 1 - exp(-(t + t * L(t))).
inline constexpr float kErfSmall = 0.875F;
inline constexpr float kErfEnd = 4.0F;  // erf is 1 to the last bit from 3.92 on
inline constexpr float kErfSmallC[6] = {0x1.06eba6p-3F,  -0x1.8126fap-2F, 0x1.ce1dd2p-4F,
                                        -0x1.b6bee4p-6F, 0x1.4876cep-8F,  -0x1.3f4f84p-11F};
inline constexpr float kErfLargeC[7] = {0x1.076da4p-3F,  0x1.453e04p-1F, 0x1.b28ce8p-4F,
                                        -0x1.83413ap-6F, 0x1.d596b8p-9F, -0x1.4302c0p-12F,
                                        0x1.473ae4p-17F};

// gelu_tanh(x) = x / (1 + exp(-2u)), 2u = x * (kGeluA + kGeluB * x^2).
inline constexpr float kGeluA = 0x1.988454p+0F;        // 2 sqrt(2 / pi)
inline constexpr float kGeluB = 0x1.2444f2p-4F;        // that times 0.044715
inline constexpr float kSqrtHalf = 0x1.6a09e6p-1F;     // gelu_erf(x) = 0.5 x (1 + erf(x sqrt(1/2)))
inline constexpr float kSigmoidGelu = 0x1.b3b646p+0F;  // quick_gelu(x) = x sigmoid(1.702 x)

}  // namespace fathom::kernels

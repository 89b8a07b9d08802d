// Frequencies in the order of operations that transformers uses, with libm-free powers so that
// every machine gets the same bits.
#include "model/rope.h"

#include "base/det_math.h"

namespace fathom::model {

namespace {

constexpr double kTwoPi = 6.283185307179586;

// Long wavelengths are stretched by `factor`, short ones kept, those between blended.
float llama3_scaled(float inv_freq, const RopeOptions& rope) {
  const auto factor = static_cast<float>(rope.factor);
  const double wavelength = kTwoPi / inv_freq;
  if (wavelength > rope.original_context / rope.low_freq_factor) {
    return inv_freq / factor;
  }
  if (wavelength < rope.original_context / rope.high_freq_factor) {
    return inv_freq;
  }
  const double smooth = (rope.original_context / wavelength - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  return static_cast<float>((1.0 - smooth) * inv_freq / rope.factor + smooth * inv_freq);
}

}  // namespace

std::vector<float> make_inv_freq(const RopeOptions& rope, std::span<const float> divisors) {
  std::vector<float> result;
  for (int i = 0; i < rope.rotary_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(rope.rotary_dim);
    const auto power = static_cast<float>(det_pow(rope.theta, exponent));
    float inv_freq = 1.0F / power;
    if (rope.scaling == RopeScaling::kLinear) {
      inv_freq /= static_cast<float>(rope.factor);
    } else if (rope.scaling == RopeScaling::kLlama3) {
      inv_freq = llama3_scaled(inv_freq, rope);
    }
    if (!divisors.empty()) {
      inv_freq /= divisors[static_cast<size_t>(i / 2)];
    }
    result.push_back(inv_freq);
  }
  return result;
}

}  // namespace fathom::model

// Frequencies in the order of operations that transformers uses, with libm-free powers so that
// every machine gets the same bits.
#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
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

// The frequency whose wavelength turns `rotations` times in the original context.
double yarn_boundary(const RopeOptions& rope, double rotations) {
  return rope.rotary_dim * det_log(rope.original_context / (rotations * kTwoPi)) /
         (2.0 * det_log(rope.theta));
}

// 1 - ramp: how much of the unscaled frequency is kept for pair i.
class YarnRamp {
 public:
  explicit YarnRamp(const RopeOptions& rope)
      : low_(yarn_boundary(rope, rope.beta_fast)), high_(yarn_boundary(rope, rope.beta_slow)) {
    if (rope.truncate) {
      low_ = std::floor(low_);
      high_ = std::ceil(high_);
    }
    low_ = std::max(low_, 0.0);
    high_ = std::min(high_, static_cast<double>(rope.rotary_dim - 1));
    if (low_ == high_) {
      high_ += 0.001;  // as the reference avoids the division by zero
    }
  }

  [[nodiscard]] float at(int pair) const {
    const double ramp = (pair - low_) / (high_ - low_);
    return static_cast<float>(std::clamp(ramp, 0.0, 1.0));
  }

 private:
  double low_;
  double high_;
};

double theta_for(const RopeOptions& rope, int64_t length) {
  if (rope.scaling != RopeScaling::kDynamic ||
      static_cast<double>(length) <= rope.original_context) {
    return rope.theta;
  }
  const double d = rope.rotary_dim;
  const double stretch =
      rope.factor * static_cast<double>(length) / rope.original_context - (rope.factor - 1.0);
  return rope.theta * det_pow(stretch, d / (d - 2.0));
}

}  // namespace

bool depends_on_length(const RopeOptions& rope) {
  return rope.scaling == RopeScaling::kDynamic || rope.scaling == RopeScaling::kLongRope;
}

void fill_inv_freq(const RopeOptions& rope, std::span<const float> divisors, int64_t length,
                   std::span<float> inv_freqs) {
  FATHOM_CHECK(static_cast<int>(inv_freqs.size()) == rope.rotary_dim / 2);
  const double theta = theta_for(rope, length);
  std::optional<YarnRamp> ramp;
  if (rope.scaling == RopeScaling::kYarn) {
    ramp.emplace(rope);
  }
  const auto factor = static_cast<float>(rope.factor);
  const bool is_long = static_cast<double>(length) > rope.original_context;
  const std::vector<double>& factors = is_long ? rope.long_factors : rope.short_factors;
  const int n_kept = static_cast<int>(rope.partial * rope.rotary_dim / 2.0);
  for (int i = 0; i < rope.rotary_dim; i += 2) {
    const int pair = i / 2;
    const float exponent = static_cast<float>(i) / static_cast<float>(rope.rotary_dim);
    const auto power = static_cast<float>(det_pow(theta, exponent));
    float inv_freq = 1.0F / power;
    switch (rope.scaling) {
      case RopeScaling::kLinear:
        inv_freq /= factor;
        break;
      case RopeScaling::kLlama3:
        inv_freq = llama3_scaled(inv_freq, rope);
        break;
      case RopeScaling::kYarn: {
        const float keep = 1.0F - ramp->at(pair);
        inv_freq = 1.0F / (factor * power) * (1.0F - keep) + inv_freq * keep;
        break;
      }
      case RopeScaling::kLongRope:
        inv_freq = 1.0F / (static_cast<float>(factors[static_cast<size_t>(pair)]) * power);
        break;
      case RopeScaling::kProportional:
        inv_freq = pair < n_kept ? inv_freq / factor : 0.0F;
        break;
      default:
        break;
    }
    if (!divisors.empty()) {
      inv_freq /= divisors[static_cast<size_t>(pair)];
    }
    inv_freqs[static_cast<size_t>(pair)] = inv_freq;
  }
}

int64_t rope_id(const RopeOptions& rope, int64_t length) {
  if (!depends_on_length(rope) || static_cast<double>(length) <= rope.original_context) {
    return 0;
  }
  return rope.scaling == RopeScaling::kDynamic ? length : 1;
}

int64_t rope_id(const ModelConfig& config, int64_t length) {
  int64_t id = 0;
  for (const RopeOptions& rope : config.ropes) {
    id = std::max(id, rope_id(rope, length));
  }
  return id;
}

}  // namespace fathom::model

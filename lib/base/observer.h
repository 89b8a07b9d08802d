// The one seam through which anything that flows can be watched: every operation offers its
// tensors here, in the order in which they come to be. With no observer it costs one null test.
// Called by ops and model. Read next: xray/shape_trace.h, xray/nan_check.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"

namespace fathom {

// Where a tensor stands in the model: layer -1 is outside the layers ("embed", "logits").
struct TensorEvent {
  int layer = -1;
  std::string_view name;           // "attn_norm", "q", "ffn_out" ...; valid during the call
  std::span<const int64_t> shape;  // [n_tokens, ...]
  DType type = DType::kF32;        // how the engine holds it (I8 for quantized activations)
  std::span<const float> values;   // row-major, shape's product long; for packed activations
                                   // the values before rounding
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Called on the thread that runs the step, between operations. Must not change any tensor.
  virtual void on_tensor(const TensorEvent& event) = 0;
};

}  // namespace fathom

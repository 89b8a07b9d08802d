// Looks at every value until the first bad one. Read next: xray/shape_trace.cc.
#include "xray/nan_check.h"

#include <cmath>

namespace fathom::xray {

void NanCheck::on_tensor(const TensorEvent& event) {
  if (first_) {
    return;
  }
  for (size_t i = 0; i < event.values.size(); ++i) {
    if (std::isfinite(event.values[i])) {
      continue;
    }
    int64_t n_rows = event.shape.empty() ? 1 : event.shape.front();
    n_rows = n_rows > 0 ? n_rows : 1;
    const auto n_cols = static_cast<int64_t>(event.values.size()) / n_rows;
    const auto at = static_cast<int64_t>(i);
    first_ = BadValue{.layer = event.layer,
                      .tensor = std::string(event.name),
                      .row = n_cols > 0 ? at / n_cols : 0,
                      .column = n_cols > 0 ? at % n_cols : at,
                      .value = event.values[i]};
    return;
  }
}

}  // namespace fathom::xray

// Finds the first NaN or infinity: layer, tensor, row, column.
// Attached by apps/run (--check-nan). Read next: base/observer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/observer.h"

namespace fathom::xray {

struct BadValue {
  int layer = -1;
  std::string tensor;
  int64_t row = 0;
  int64_t column = 0;
  float value = 0;
};

class NanCheck final : public Observer {
 public:
  void on_tensor(const TensorEvent& event) override;

  // The first bad value seen, if any.
  [[nodiscard]] const std::optional<BadValue>& first() const { return first_; }

 private:
  std::optional<BadValue> first_;
};

}  // namespace fathom::xray

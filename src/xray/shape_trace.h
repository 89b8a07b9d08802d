// Lists every tensor that flows: layer, name, shape, dtype, in order.
// Attached by apps/run (--trace). Read next: base/observer.h.
#pragma once

#include <string>
#include <vector>

#include "base/observer.h"

namespace fathom::xray {

class ShapeTrace final : public Observer {
 public:
  void on_tensor(const TensorEvent& event) override;

  // "layer - tensor - shape - dtype", one per tensor seen since the last clear().
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

  void clear() { lines_.clear(); }

 private:
  std::vector<std::string> lines_;
};

}  // namespace fathom::xray

// One line per tensor event. Read next: xray/nan_check.cc.
#include "xray/shape_trace.h"

#include <fmt/format.h>

#include "base/tensor.h"

namespace fathom::xray {

void ShapeTrace::on_tensor(const TensorEvent& event) {
  const std::string layer = event.layer < 0 ? std::string("trunk") : fmt::format("{}", event.layer);
  lines_.push_back(fmt::format("{} - {} - {} - {}", layer, event.name, format_shape(event.shape),
                               name_of(event.type)));
}

}  // namespace fathom::xray

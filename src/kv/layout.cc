// Page sizes; the layout itself is described in base/paged_view.h.
#include "kv/layout.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"

namespace fathom::kv {

std::string_view name_of(PageType type) {
  return type == PageType::kBF16 ? "bf16" : "f32";
}

PageType parse_page_type(std::string_view name) {
  for (const PageType type : {PageType::kBF16, PageType::kF32}) {
    if (name == name_of(type)) {
      return type;
    }
  }
  fail(ErrorCode::kUnsupported,
       fmt::format("KV page type '{}' is not one of bf16, f32", std::string(name)));
}

int64_t head_bytes(const PageShape& shape) {
  const int64_t dims =
      shape.type == PageType::kBF16 ? (shape.head_dim + 1) / 2 * 2 : shape.head_dim;
  const int64_t value_bytes = shape.type == PageType::kBF16 ? 2 : 4;
  return kPageTokens * dims * value_bytes;
}

int64_t page_layer_bytes(const PageShape& shape) {
  return 2 * head_bytes(shape) * shape.n_kv_heads;
}

int64_t pool_bytes(const PageShape& shape, int64_t n_pages) {
  return page_layer_bytes(shape) * shape.n_layers * n_pages;
}

int64_t pages_for(int64_t n_tokens) {
  return (n_tokens + kPageTokens - 1) / kPageTokens;
}

}  // namespace fathom::kv

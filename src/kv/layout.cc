// Page sizes; the layout itself is described in base/paged_view.h.
#include "kv/layout.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"

namespace fathom::kv {

namespace {

// K or V of one head in one page, `dim` values a position.
int64_t half_bytes(PageType type, int dim) {
  const int64_t padded = type == PageType::kBF16 ? (int64_t{dim} + 1) / 2 * 2 : dim;
  return kPageTokens * padded * (type == PageType::kBF16 ? 2 : 4);
}

}  // namespace

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

int64_t key_bytes(const PageShape& shape) {
  return half_bytes(shape.type, shape.head_dim);
}

int64_t value_bytes(const PageShape& shape) {
  return half_bytes(shape.type, shape.value_dim);
}

int64_t page_layer_bytes(const PageShape& shape) {
  return (key_bytes(shape) + value_bytes(shape)) * shape.n_kv_heads;
}

int64_t pool_bytes(const PageShape& shape, int64_t n_pages) {
  return page_layer_bytes(shape) * shape.n_layers * n_pages;
}

int64_t pages_for(int64_t n_tokens) {
  return (n_tokens + kPageTokens - 1) / kPageTokens;
}

}  // namespace fathom::kv

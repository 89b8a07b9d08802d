// Page sizes; the layout itself is described in base/paged_view.h.
#include "kv/layout.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/error.h"

namespace fathom::kv {

namespace {

constexpr std::array<std::string_view, kNumPageTypes> kNames = {"bf16", "f32", "int8"};

}  // namespace

std::string_view name_of(PageType type) {
  return kNames[static_cast<size_t>(type)];
}

PageType parse_page_type(std::string_view name) {
  for (const PageType type : {PageType::kBF16, PageType::kF32, PageType::kInt8}) {
    const bool is_other_name = type == PageType::kInt8 && (name == "q8" || name == "q8_0");
    if (name == name_of(type) || is_other_name) {
      return type;
    }
  }
  fail(ErrorCode::kUnsupported,
       fmt::format("KV page type '{}' is not one of bf16, f32, int8", std::string(name)));
}

int64_t key_bytes(const PageShape& shape) {
  return page_half_bytes(shape.type, shape.head_dim);
}

int64_t value_bytes(const PageShape& shape) {
  return page_half_bytes(shape.type, shape.value_dim);
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

// Bytes of a page for each page type, and the view of a layer's pages.
// Called by kv/page_pool, kv/budget. Read next: base/paged_view.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/paged_view.h"

namespace fathom::kv {

struct PageShape {
  PageType type = PageType::kBF16;
  int n_layers = 0;
  int n_kv_heads = 0;
  int head_dim = 0;   // of K
  int value_dim = 0;  // of V
};

// "bf16", "f32", "int8"
std::string_view name_of(PageType type);

// The inverse; int8 is also known as q8 and q8_0. Error: kUnsupported for types that other programs
// have (f16, q4_0), with the list of ours.
PageType parse_page_type(std::string_view name);

// Bytes of K, and of V, of one head in one page: multiples of 64.
int64_t key_bytes(const PageShape& shape);
int64_t value_bytes(const PageShape& shape);

// Bytes of one page in one layer.
int64_t page_layer_bytes(const PageShape& shape);

// Bytes of `n_pages` pages over all layers.
int64_t pool_bytes(const PageShape& shape, int64_t n_pages);

// Pages that hold `n_tokens` positions.
int64_t pages_for(int64_t n_tokens);

}  // namespace fathom::kv

// A few tables of each kind, found by the choice that a length makes.
// Called by model/model. Read next: model/rope.cc.
#include "model/rope_tables.h"

#include <algorithm>

#include "base/check.h"
#include "model/rope.h"

namespace fathom::model {

namespace {

int n_tables(const RopeOptions& rope) {
  switch (rope.scaling) {
    case RopeScaling::kDynamic:
      return kDynamicTables;
    case RopeScaling::kLongRope:
      return 2;
    default:
      return 1;
  }
}

size_t n_pairs(const RopeOptions& rope) {
  return static_cast<size_t>(rope.rotary_dim / 2);
}

}  // namespace

size_t RopeTables::bytes(const std::vector<RopeOptions>& ropes) {
  size_t total = 0;
  for (const RopeOptions& rope : ropes) {
    total += static_cast<size_t>(n_tables(rope)) *
             MemoryPool::padded_bytes(n_pairs(rope) * sizeof(float));
  }
  return total;
}

RopeTables::RopeTables(const std::vector<RopeOptions>& ropes,
                       const std::vector<std::vector<float>>& divisors, MemoryPool& pool)
    : ropes_(&ropes), divisors_(&divisors) {
  FATHOM_CHECK(ropes.size() == divisors.size());
  for (const RopeOptions& rope : ropes) {
    std::vector<Table>& tables = kinds_.emplace_back(static_cast<size_t>(n_tables(rope)));
    for (Table& table : tables) {
      table.inv_freq = pool.allocate_array<float>(n_pairs(rope));
    }
  }
}

std::span<const float> RopeTables::inv_freq(size_t kind, int64_t length) {
  const RopeOptions& rope = (*ropes_)[kind];
  const int64_t id = rope_id(rope, length);
  std::vector<Table>& tables = kinds_[kind];
  auto table = std::ranges::find(tables, id, &Table::id);
  if (table == tables.end()) {
    table = std::ranges::min_element(tables, {}, &Table::last_used);
    fill_inv_freq(rope, (*divisors_)[kind], length, table->inv_freq);
    table->id = id;
    ++n_filled_;
  }
  table->last_used = ++n_asked_;
  return table->inv_freq;
}

}  // namespace fathom::model

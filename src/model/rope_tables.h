// The rotation frequencies that a model is using: every kind has its tables in the scratch pool,
// and those that depend on a sequence's length are kept from step to step.
//
//   fixed kinds: one table | longrope: two, short and long | dynamic: one for each of the last
//   kDynamicTables lengths, the one that was not asked for longest makes room
//
// Called by model/model. Read next: model/rope.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
#include "model/config.h"

namespace fathom::model {

inline constexpr int kDynamicTables = 16;

class RopeTables {
 public:
  // `ropes` and `divisors` (for each kind the file's rope_freqs.weight, or empty) must outlive the
  // tables.
  RopeTables(const std::vector<RopeOptions>& ropes, const std::vector<std::vector<float>>& divisors,
             MemoryPool& pool);

  // What the constructor takes from the pool.
  static size_t bytes(const std::vector<RopeOptions>& ropes);

  // inv_freq [rotary_dim / 2] of kind `kind` for a sequence planned to be `length` tokens long.
  // Valid until the next call. Thread rule: one step at a time.
  std::span<const float> inv_freq(size_t kind, int64_t length);

  // Tables computed so far.
  [[nodiscard]] int64_t n_filled() const { return n_filled_; }

 private:
  struct Table {
    std::span<float> inv_freq;
    int64_t id = -1;        // rope_id of its lengths; -1: not filled
    int64_t last_used = 0;  // n_asked_ then
  };

  const std::vector<RopeOptions>* ropes_;
  const std::vector<std::vector<float>>* divisors_;
  std::vector<std::vector<Table>> kinds_;
  int64_t n_asked_ = 0;
  int64_t n_filled_ = 0;
};

}  // namespace fathom::model

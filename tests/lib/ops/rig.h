// A backend with its pools and threads, random rows, and packed matrices made from random file
// blocks. Called by the tests of ops.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/half.h"
#include "base/observer.h"
#include "base/threads.h"
#include "kernels/dispatch.h"
#include "ops/cpu_backend.h"
#include "quant/formats.h"
#include "quant/pack.h"

namespace fathom::ops {

inline constexpr SplitLimits kRigLimits{
    .max_decode_rows = 8, .n_heads = 8, .head_dim = 32, .max_context = 2048};

// One engine's worth of machinery. The scalar kernels are the definition; `table` may be another.
struct Rig {
  explicit Rig(int n_threads, const SplitLimits& limits = kRigLimits,
               const kernels::KernelTable& kernels = kernels::scalar_table())
      : threads(n_threads),
        table(kernels),
        pool("test", Exec::scratch_bytes(n_threads) + CpuBackend::split_bytes(limits)),
        exec(threads, table, pool),
        backend(exec, pool, limits) {}

  ThreadPool threads;
  kernels::KernelTable table;
  MemoryPool pool;
  Exec exec;
  CpuBackend backend;
};

// Rows with their storage; the stride is wider than a row, and what lies between is watched.
class Matrix {
 public:
  static constexpr float kGap = 12345.0F;

  Matrix(int64_t n_rows, int64_t n_cols, int64_t gap = 3)
      : values_(static_cast<size_t>(n_rows * (n_cols + gap)), kGap),
        n_rows_(n_rows),
        n_cols_(n_cols),
        stride_(n_cols + gap) {}

  // Normal values; with `outlier` > 1 one of 50 is so many times larger, as in real activations.
  static Matrix random(int64_t n_rows, int64_t n_cols, uint32_t seed, float outlier = 20.0F) {
    Matrix result(n_rows, n_cols);
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < n_rows; ++i) {
      for (int64_t k = 0; k < n_cols; ++k) {
        result.rows().row(i)[k] = normal(generator) * (generator() % 50 == 0 ? outlier : 1.0F);
      }
    }
    return result;
  }

  [[nodiscard]] Rows rows() const {
    return {.data = const_cast<float*>(values_.data()),
            .n_rows = n_rows_,
            .n_cols = n_cols_,
            .stride = stride_};
  }

  // Rows [first, first + n).
  [[nodiscard]] Rows part(int64_t first, int64_t n) const {
    Rows result = rows();
    result.data = result.row(first);
    result.n_rows = n;
    return result;
  }

  // False when something wrote between the rows.
  [[nodiscard]] bool gaps_intact() const {
    for (int64_t i = 0; i < n_rows_; ++i) {
      for (int64_t k = n_cols_; k < stride_; ++k) {
        if (values_[static_cast<size_t>(i * stride_ + k)] != kGap) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  std::vector<float> values_;
  int64_t n_rows_;
  int64_t n_cols_;
  int64_t stride_;
};

// The same bits in every element.
inline bool same_bits(const Rows& a, const Rows& b) {
  if (a.n_rows != b.n_rows || a.n_cols != b.n_cols) {
    return false;
  }
  for (int64_t i = 0; i < a.n_rows; ++i) {
    if (std::memcmp(a.row(i), b.row(i), static_cast<size_t>(a.n_cols) * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

// A packed matrix with its bytes.
struct Weight {
  std::vector<std::byte> storage;
  quant::PackedMatrix matrix;
};

// Packs file rows of `type`; the rows lie one behind the other in `file`.
inline Weight pack_weight(DType type, int64_t n_rows, int64_t n_cols,
                          std::span<const std::byte> file) {
  Weight weight;
  weight.matrix.type = quant::packed_type_of(type, false);
  weight.matrix.n_rows = n_rows;
  weight.matrix.n_cols = n_cols;
  weight.matrix.group_stride_bytes = quant::group_bytes(weight.matrix.type, n_cols);
  const auto n_bytes =
      static_cast<size_t>(weight.matrix.group_stride_bytes * weight.matrix.n_groups());
  weight.storage.resize(n_bytes + 64);
  const auto address = reinterpret_cast<uintptr_t>(weight.storage.data());
  std::byte* data = weight.storage.data() + (64 - address % 64) % 64;
  weight.matrix.data = data;
  const auto row_bytes = static_cast<size_t>(quant::row_bytes(type, n_cols));
  for (int64_t g = 0; g < weight.matrix.n_groups(); ++g) {
    quant::PackGroup job;
    job.file_type = type;
    job.packed_type = weight.matrix.type;
    job.n_cols = n_cols;
    job.out = data + g * weight.matrix.group_stride_bytes;
    for (int64_t r = 0; r < quant::kGroupRows; ++r) {
      const int64_t row = g * quant::kGroupRows + r;
      job.rows[static_cast<size_t>(r)] =
          row < n_rows ? file.data() + static_cast<size_t>(row) * row_bytes : nullptr;
    }
    EXPECT_EQ(quant::pack_group(job), -1);
  }
  return weight;
}

// Random F32, BF16, Q4_0, Q4_1 or Q8_0 weights of a size that keeps results near 1.
inline Weight random_weight(DType type, int64_t n_rows, int64_t n_cols, uint32_t seed) {
  std::mt19937 generator(seed);
  const auto n_bytes = static_cast<size_t>(n_rows * quant::row_bytes(type, n_cols));
  std::vector<std::byte> file(n_bytes);
  const auto uniform = [&] { return static_cast<float>(generator() >> 8) * 0x1p-24F; };
  if (type == DType::kF32) {
    for (size_t i = 0; i < n_bytes; i += 4) {
      const float value = uniform() - 0.5F;
      std::memcpy(&file[i], &value, 4);
    }
  } else if (type == DType::kBF16) {
    for (size_t i = 0; i < n_bytes; i += 2) {
      const uint16_t value = f32_to_bf16(uniform() - 0.5F);
      std::memcpy(&file[i], &value, 2);
    }
  } else {
    for (std::byte& byte : file) {
      byte = static_cast<std::byte>(generator());
    }
    const auto block_bytes = static_cast<size_t>(quant::format_of(type).bytes_per_block);
    const float unit = type == DType::kQ8_0 ? 0.01F : 0.1F;
    for (size_t i = 0; i < n_bytes; i += block_bytes) {
      const uint16_t scale = f32_to_f16(unit * uniform());
      std::memcpy(&file[i], &scale, 2);
      if (type == DType::kQ4_1) {
        const uint16_t least = f32_to_f16(-8.0F * unit * uniform());
        std::memcpy(&file[i + 2], &least, 2);
      }
    }
  }
  return pack_weight(type, n_rows, n_cols, file);
}

// Packed activations with their pool.
struct Packed {
  Packed(int64_t max_rows, int64_t n_cols, RowForms forms)
      : pool("packed", PackedRows::bytes(max_rows, n_cols, forms)),
        rows(pool, max_rows, n_cols, forms) {}

  MemoryPool pool;
  PackedRows rows;
};

inline RowForms all_forms() {
  RowForms forms;
  forms.add(RowForm::kInt8);
  forms.add(RowForm::kBf16);
  forms.add(RowForm::kF32);
  return forms;
}

inline RowForms coarse_forms() {
  RowForms forms = all_forms();
  forms.add_coarse();
  return forms;
}

// The same form in every row, and the same bits in the coarse form, as far as it is filled.
inline bool same_coarse(const PackedRows& a, const PackedRows& b) {
  const kernels::RowsView x = a.view();
  const kernels::RowsView y = b.view();
  bool same = x.n_rows == y.n_rows && a.n_cols() == b.n_cols();
  for (int64_t row = 0; same && row < x.n_rows; ++row) {
    same = a.is_coarse(row) == b.is_coarse(row);
    for (int64_t k = 0; same && a.is_coarse(row) && k < a.n_cols(); ++k) {
      const int64_t at = (k / 64 * x.n_rows + row) * 64 + k % 64;
      const int64_t block = k / 256 * x.n_rows + row;
      same = x.coarse_q[at] == y.coarse_q[at] && x.coarse_d[block] == y.coarse_d[block] &&
             x.coarse_sums[block] == y.coarse_sums[block];
    }
  }
  return same;
}

// x packed in all forms.
struct Input {
  Input(Rig& rig, const Rows& x) : packed(x.n_rows, x.n_cols, all_forms()) {
    rig.backend.pack(x, packed.rows, {.layer = 0, .name = "x"});
  }

  Packed packed;
};

// The same bits in every form, padding included.
inline bool same_packed(const PackedRows& a, const PackedRows& b) {
  const kernels::RowsView x = a.view();
  const kernels::RowsView y = b.view();
  if (x.n_rows != y.n_rows || x.n_blocks != y.n_blocks) {
    return false;
  }
  const auto n = static_cast<size_t>(a.n_rows());
  const auto stride = static_cast<size_t>(x.n_rows);
  const auto same = [&](const void* p, const void* q, size_t bytes) {
    bool is_same = (p == nullptr) == (q == nullptr) && a.n_rows() == b.n_rows();
    for (size_t block = 0; p != nullptr && n > 0 && block < static_cast<size_t>(x.n_blocks);
         ++block) {
      const size_t at = block * stride * bytes;
      is_same = is_same && std::memcmp(static_cast<const char*>(p) + at,
                                       static_cast<const char*>(q) + at, n * bytes) == 0;
    }
    return is_same;
  };
  return same(x.q, y.q, 32) && same(x.d, y.d, 4) && same(x.ds, y.ds, 4) &&
         same(x.sums, y.sums, 4) && same(x.half_sums, y.half_sums, 8) &&
         same(x.bf16, y.bf16, 128) && same(x.f32, y.f32, 128);
}

// Remembers what was offered.
class Recorder : public Observer {
 public:
  struct Entry {
    int layer;
    std::string name;
    std::vector<int64_t> shape;
    DType type;
    std::vector<float> values;
  };

  void on_tensor(const TensorEvent& event) override {
    entries.push_back({.layer = event.layer,
                       .name = std::string(event.name),
                       .shape = {event.shape.begin(), event.shape.end()},
                       .type = event.type,
                       .values = {event.values.begin(), event.values.end()}});
  }

  std::vector<Entry> entries;
};

// The recorded values are exactly these rows.
inline bool same_values(const Recorder::Entry& entry, const Rows& rows) {
  Rows dense{.data = const_cast<float*>(entry.values.data()),
             .n_rows = rows.n_rows,
             .n_cols = rows.n_cols,
             .stride = rows.n_cols};
  return entry.values.size() == static_cast<size_t>(rows.n_rows * rows.n_cols) &&
         same_bits(dense, rows);
}

}  // namespace fathom::ops

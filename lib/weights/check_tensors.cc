// Every row through the reference dequantization, in units of about a megabyte.
// Called by apps.
#include "weights/check_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>

#include "quant/formats.h"
#include "quant/pack.h"

namespace fathom::weights {

namespace {

constexpr int64_t kUnitBytes = int64_t{1} << 20;
constexpr int64_t kPlainBlock = 32;

bool has_fractions(DType type) {
  switch (type) {
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
      return false;
    default:
      return true;
  }
}

// Some rows of a tensor.
struct Unit {
  size_t tensor = 0;  // index in the list of tensors
  int64_t first = 0;
  int64_t n_rows = 0;
};

int64_t row_bytes_of(const FileTensor& tensor) {
  return quant::row_bytes(tensor.type, tensor.n_cols());
}

// The index of the first value that is not finite, or -1.
int64_t find_bad(const std::vector<float>& values) {
  uint32_t largest = 0;  // of the magnitudes as integers: one pass without branches
  for (const float value : values) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    largest = std::max(largest, bits & 0x7FFFFFFFU);
  }
  if (largest < 0x7F800000U) {
    return -1;
  }
  const auto it = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  return it - values.begin();
}

void read_values(const FileTensor& tensor, const std::byte* row, std::vector<float>& values) {
  if (tensor.type != DType::kF64) {
    quant::dequantize_row(tensor.type, row, tensor.n_cols(), values.data());
    return;
  }
  for (float& value : values) {
    double wide = 0;
    std::memcpy(&wide, row, sizeof wide);
    // Only whether it is finite counts: a large double is, and must not become an infinite float.
    value = std::isfinite(wide) ? 0.0F : static_cast<float>(wide);
    row += sizeof wide;
  }
}

class Checker {
 public:
  explicit Checker(const ModelFile& model) : model_(model) {
    for (const auto& [name, tensor] : model.tensors.tensors()) {
      if (has_fractions(tensor.type) && tensor.n_elements() > 0) {
        tensors_.push_back(&tensor);
      }
    }
    first_bad_.resize(tensors_.size());
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const int64_t row_bytes = std::max<int64_t>(1, row_bytes_of(*tensors_[i]));
      const int64_t step = std::max<int64_t>(1, kUnitBytes / row_bytes);
      const int64_t n_rows = tensors_[i]->n_rows();
      total_bytes_ += n_rows * row_bytes;
      for (int64_t first = 0; first < n_rows; first += step) {
        units_.push_back({i, first, std::min(step, n_rows - first)});
      }
    }
  }

  void run(ThreadPool& pool, const CheckProgress& progress) {
    pool.run(static_cast<int64_t>(units_.size()), [&](int64_t unit, int worker) {
      const int64_t bytes = check(units_[static_cast<size_t>(unit)]);
      const int64_t done = done_.fetch_add(bytes) + bytes;
      if (worker == 0 && progress) {
        progress(done, total_bytes_);
      }
    });
  }

  [[nodiscard]] TensorCheck result() const {
    TensorCheck check;
    check.n_tensors = static_cast<int64_t>(tensors_.size());
    for (const std::optional<BadTensor>& bad : first_bad_) {
      if (bad) {
        ++check.n_bad;
        if (check.bad.size() < kMaxBadTensors) {
          check.bad.push_back(*bad);
        }
      }
    }
    return check;
  }

 private:
  // Gives the bytes of the rows.
  int64_t check(const Unit& unit) {
    const FileTensor& tensor = *tensors_[unit.tensor];
    const int64_t row_bytes = row_bytes_of(tensor);
    const auto n_bytes = static_cast<size_t>(unit.n_rows * row_bytes);
    std::vector<std::byte> computed;
    std::span<const std::byte> rows;
    if (tensor.reader != nullptr) {
      computed.resize(n_bytes);
      tensor.reader->read_rows(unit.first, unit.n_rows, computed.data());
      rows = computed;
    } else {
      rows = tensor.bytes.subspan(static_cast<size_t>(unit.first * row_bytes), n_bytes);
    }
    std::vector<float> values(static_cast<size_t>(tensor.n_cols()));
    for (int64_t i = 0; i < unit.n_rows; ++i) {
      read_values(tensor, rows.data() + i * row_bytes, values);
      const int64_t at = find_bad(values);
      if (at >= 0) {
        report(unit.tensor, unit.first + i, at, std::isnan(values[static_cast<size_t>(at)]));
        break;
      }
    }
    if (tensor.reader == nullptr) {
      model_.tensors.release(tensor, rows);
    }
    return static_cast<int64_t>(n_bytes);
  }

  void report(size_t index, int64_t row, int64_t column, bool is_nan) {
    const FileTensor& tensor = *tensors_[index];
    const int64_t in_block = quant::format_of(tensor.type).values_per_block;
    const int64_t block_values = in_block == 1 ? kPlainBlock : in_block;
    const int64_t block = column / block_values;
    const std::lock_guard lock(mutex_);
    std::optional<BadTensor>& first = first_bad_[index];
    if (!first || row < first->row) {
      first = {tensor.name, tensor.type, row, block, block * block_values, is_nan};
    }
  }

  const ModelFile& model_;
  std::vector<const FileTensor*> tensors_;
  std::vector<Unit> units_;
  int64_t total_bytes_ = 0;
  std::atomic<int64_t> done_{0};
  std::mutex mutex_;
  std::vector<std::optional<BadTensor>> first_bad_;  // by tensor
};

}  // namespace

TensorCheck check_tensors(const ModelFile& model, ThreadPool& pool, const CheckProgress& progress) {
  Checker checker(model);
  checker.run(pool, progress);
  return checker.result();
}

std::string format_bad_tensor(const BadTensor& bad) {
  const int64_t in_block = quant::format_of(bad.type).values_per_block;
  const int64_t n = in_block == 1 ? kPlainBlock : in_block;
  return fmt::format("tensor '{}' ({}) row {} block {} (values {} to {}): {}{}", bad.name,
                     name_of(bad.type), bad.row, bad.block, bad.first_value,
                     bad.first_value + n - 1, bad.is_nan ? "NaN" : "infinity",
                     in_block == 1 ? "" : ", so its scale is broken");
}

}  // namespace fathom::weights

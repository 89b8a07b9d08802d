// Looks at every value of a model file for NaN, infinities and impossible scales (--check-tensors).
// Called by apps. Read next: weights/model_file.h, quant/pack.h (dequantize_row).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/threads.h"
#include "weights/model_file.h"

namespace fathom::weights {

// The first bad place of a tensor.
struct BadTensor {
  std::string name;
  DType type = DType::kF32;
  int64_t row = 0;          // of the matrix view
  int64_t block = 0;        // of the row: the type's own blocks; 32 values for plain floats
  int64_t first_value = 0;  // column that the block starts with
  bool is_nan = false;      // else infinite
};

struct TensorCheck {
  std::vector<BadTensor> bad;  // by name, at most kMaxBadTensors
  int64_t n_bad = 0;           // all tensors with a bad place
  int64_t n_tensors = 0;       // looked at; tensors of integers are not
};

inline constexpr size_t kMaxBadTensors = 20;

// Called on the calling thread with file bytes done and in all; empty: nobody wants to know.
using CheckProgress = std::function<void(int64_t done, int64_t total)>;

// Dequantizes all tensors, row by row, on all threads of `pool`. A bad scale shows as NaN or
// infinity of its whole block, whatever the codes are. The same result for any number of threads.
TensorCheck check_tensors(const ModelFile& model, ThreadPool& pool, const CheckProgress& progress);

// "tensor 'a.weight' (Q4_K) row 3 block 2 (values 512 to 767): NaN, so its scale is broken".
std::string format_bad_tensor(const BadTensor& bad);

}  // namespace fathom::weights

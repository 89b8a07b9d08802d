// What loading does, as a list built once from the bindings: the plan adds it up, the packer runs
// it. So what is planned is what is packed.
//
//   weights pool: [vectors of the model][embedding][head unless tied] ... [layer 0: its vectors, q
//   k v | o | gate/up | down | experts][layer 1] ... q, k, v lie one after the other; gate and up
//   of one type alternate by groups of 16 rows.
// Called by model/load. Read next: model/packer.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/bind.h"
#include "model/matrix_view.h"
#include "model/weights.h"
#include "quant/packed.h"

namespace fathom::model {

struct MatrixJob {
  MatrixView view;
  DType packed = DType::kF32;
  size_t offset = 0;  // of group 0 in the region
  int64_t group_stride_bytes = 0;
  quant::PackedMatrix* target = nullptr;
  ops::RowForms ModelWeightTypes::*place = nullptr;  // whose rows it multiplies; null: looked up
  double share = 1.0;  // of its bytes that one token reads: experts used / experts
  MatrixView source;   // what `view` was before adapters were merged into it; else not bound

  // Where the file has its rows.
  [[nodiscard]] const MatrixView& file_view() const { return source.is_bound() ? source : view; }
};

// Views that become one run of floats.
struct VectorJob {
  std::vector<MatrixView> views;
  float add = 0;  // 1 for norms stored as w
  size_t offset = 0;
  int64_t n_values = 0;
  const float** target = nullptr;
};

// Everything that loading does, with offsets into one region of `bytes`.
struct JobList {
  std::vector<MatrixJob> matrices;
  std::vector<VectorJob> vectors;
  size_t bytes = 0;
};

// `weights` has its config and layers; targets of the jobs point into it.
JobList make_jobs(const Bindings& bindings, bool as_f32, ModelWeights& weights);

}  // namespace fathom::model

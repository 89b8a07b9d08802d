// Runs the packing jobs: units of some groups of 16 rows, on all threads.
// Called by model/load. Read next: quant/pack.h, model/matrix_view.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/threads.h"
#include "model/jobs.h"
#include "weights/model_file.h"

namespace fathom::model {

// Called with bytes done and bytes in all, from the loading thread.
using LoadProgress = std::function<void(int64_t, int64_t)>;

// Packs every matrix into `region`, releasing file pages behind itself. Error: kCorruptFile for a
// NaN or infinite scale or value (tensor and row named, the first in file order).
void pack_matrices(const weights::ModelFile& file, const JobList& jobs, std::byte* region,
                   ThreadPool& threads, const LoadProgress& progress);

}  // namespace fathom::model

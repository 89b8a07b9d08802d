// fathom bench --ops: where the time of prefill and decode goes, operation by operation.
// Called by bench.cc. Read next: xray/op_profile.h.
#pragma once

#include "bench_run.h"

namespace fathom::app {

// The session must have been opened with profile_ops. Returns the exit status.
int bench_ops(const BenchFlags& flags, api::Session& session);

}  // namespace fathom::app

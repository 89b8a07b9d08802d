// Compares one entry of two tables on the probe's data.
// Called by kernels/dispatch, tests. Read next: kernels/probe.cc.
#include "kernels/self_test.h"

#include "kernels/probe.h"

namespace fathom::kernels {

bool entry_passes(const Entry& entry, const KernelTable& candidate, const KernelTable& reference) {
  return is_same_entry(entry, candidate, reference) ||
         (probe_entry(entry, candidate) == probe_entry(entry, reference) &&
          probe_options(entry, candidate) == probe_options(entry, reference));
}

}  // namespace fathom::kernels

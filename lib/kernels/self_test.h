// The start-up proof: a kernel is used only if it gives the scalar kernel's bits on fixed data.
// Called by kernels/dispatch, tests. Read next: kernels/probe.h.
#pragma once

#include "kernels/entries.h"

namespace fathom::kernels {

// True when `entry` of `candidate` gives the same words as that of `reference`.
bool entry_passes(const Entry& entry, const KernelTable& candidate, const KernelTable& reference);

}  // namespace fathom::kernels

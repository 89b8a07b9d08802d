// Picks the kernels for this machine, proves them against scalar at start, and reports the truth.
// Called by api (once per process), apps/inspect. Read next: kernels/table.h, kernels/self_test.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "kernels/table.h"

namespace fathom::kernels {

// One line of `fathom inspect --kernels`.
struct EntryReport {
  std::string entry;       // "matmul_few.Q4_0"
  Isa set = Isa::kScalar;  // which set filled it
  bool disabled = false;   // a faster twin failed the self-test and was taken out
};

struct Dispatch {
  KernelTable table;
  Isa isa = Isa::kScalar;             // highest set in use
  std::vector<Isa> built;             // sets in this program
  std::vector<Isa> usable;            // sets that this CPU and OS allow as well
  std::vector<EntryReport> entries;   // in the order of all_entries()
  std::vector<std::string> messages;  // one line per entry that the self-test disabled
};

// The table for `features`, at most `cap`; a cap of amx asks for the tiles (base/cpu.h). With
// `self_test`, every entry that a set filled is run on fixed data and compared with scalar; one
// that differs falls back to the next lower set. Errors: kUnsupported when `cap_is_request`
// (FATHOM_ISA was given) and the machine or this build lacks it; the message tells which.
Dispatch make_dispatch(const CpuFeatures& features, Isa cap, bool cap_is_request, bool self_test);

// An instruction set: what it is called and how it overwrites the entries it has.
struct KernelSet {
  Isa isa = Isa::kScalar;
  void (*fill)(KernelTable& table) = nullptr;
};

// The sets of this program above scalar, in rising order.
std::vector<KernelSet> built_sets();

// The part of make_dispatch that overlays `sets` (in rising order) on scalar and tests them.
Dispatch overlay_sets(std::span<const KernelSet> sets, bool self_test);

// The scalar table alone: the definition.
KernelTable scalar_table();

}  // namespace fathom::kernels

// Which sets are chosen, what FATHOM_ISA may ask for, and that listed entries do not point below
// their set.
#include "kernels/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "support/error_check.h"
#include "support/test_data.h"

namespace fathom::kernels {
namespace {

CpuFeatures cpu_with_everything() {
  CpuFeatures features;
  features.avx2 = features.avx512 = features.vnni = features.amx = true;
  features.neon = features.dotprod = features.i8mm = true;
  return features;
}

Isa isa_named(const std::string& name) {
  const auto found = std::find_if(std::begin(kAllIsas), std::end(kAllIsas),
                                  [&](Isa isa) { return name_of(isa) == name; });
  if (found == std::end(kAllIsas)) {
    ADD_FAILURE() << "no set " << name;
    return Isa::kScalar;
  }
  return *found;
}

bool is_built(Isa isa) {
  const std::vector<KernelSet> sets = built_sets();
  return isa == Isa::kScalar || std::any_of(sets.begin(), sets.end(),
                                            [&](const KernelSet& set) { return set.isa == isa; });
}

TEST(Dispatch, AMachineWithNothingGetsScalar) {
  const Dispatch dispatch = make_dispatch(CpuFeatures(), Isa::kAmx, false, false);
  EXPECT_EQ(dispatch.isa, Isa::kScalar);
  EXPECT_EQ(dispatch.usable, std::vector<Isa>{Isa::kScalar});
  for (const EntryReport& report : dispatch.entries) {
    EXPECT_EQ(report.set, Isa::kScalar);
    EXPECT_FALSE(report.disabled);
  }
  EXPECT_EQ(dispatch.table.add, scalar_table().add);
}

TEST(Dispatch, TheCapLimits) {
  const CpuFeatures all = cpu_with_everything();
  const Dispatch capped = make_dispatch(all, Isa::kScalar, true, false);
  EXPECT_EQ(capped.isa, Isa::kScalar);
  for (const KernelSet& set : built_sets()) {
    if (!detect_cpu().has(set.isa)) {
      continue;  // its fill function may itself be vector code
    }
    const Dispatch dispatch = make_dispatch(all, set.isa, true, false);
    EXPECT_EQ(dispatch.isa, set.isa);
    for (const EntryReport& report : dispatch.entries) {
      EXPECT_LE(report.set, set.isa) << report.entry;
    }
  }
}

// A cap allows what stands before it in Isa: sets of two processors in one program would mix.
TEST(Dispatch, TheSetsOfThisBuildAreOfOneProcessorAndRise) {
  const std::vector<KernelSet> sets = built_sets();
  const auto is_arm = [](const KernelSet& set) { return set.isa < Isa::kAvx2; };
  for (size_t i = 1; i < sets.size(); ++i) {
    EXPECT_LT(sets[i - 1].isa, sets[i].isa);
    EXPECT_EQ(is_arm(sets[i - 1]), is_arm(sets[i]));
  }
}

TEST(Dispatch, ImpossibleRequestsAreErrors) {
  int n_missing = 0;  // those of the other processors at least
  for (const Isa isa : kAllIsas) {
    if (!is_built(isa)) {
      ++n_missing;
      const std::string name(name_of(isa));
      test::expect_error([&] { make_dispatch(cpu_with_everything(), isa, true, false); },
                         ErrorCode::kUnsupported,
                         {"FATHOM_ISA=" + name, "this build has no " + name + " kernels"});
    }
  }
  EXPECT_GE(n_missing, 3);
  for (const KernelSet& set : built_sets()) {
    test::expect_error(
        [&] { make_dispatch(CpuFeatures(), set.isa, true, false); }, ErrorCode::kUnsupported,
        {"FATHOM_ISA=" + std::string(name_of(set.isa)), "this CPU", "choose one of scalar"});
  }
  // As a default cap it is no request.
  EXPECT_EQ(make_dispatch(CpuFeatures(), Isa::kAmx, false, false).isa, Isa::kScalar);
}

// Integer products of tiles have a second kernel, which another set's table holds; nothing else
// has.
TEST(Dispatch, TilesAndVectorsTakeTurns) {
  const CpuFeatures features = detect_cpu();
  const Dispatch vnni = make_dispatch(features, Isa::kVnni, false, false);
  const Dispatch amx = make_dispatch(features, Isa::kAmx, false, false);
  for (int type = 0; type < kNumDTypes; ++type) {
    EXPECT_EQ(vnni.table.matmul_many_also[type], nullptr);
    const bool has_two = amx.table.matmul_many[type] != vnni.table.matmul_many[type] &&
                         type != static_cast<int>(DType::kBF16);
    EXPECT_EQ(amx.table.matmul_many_also[type], has_two ? vnni.table.matmul_many[type] : nullptr);
  }
  EXPECT_EQ(amx.table.matmul_many_also[static_cast<int>(DType::kQ4_0)] != nullptr,
            amx.isa == Isa::kAmx);
}

TEST(Dispatch, NothingIsDisabledOnThisMachine) {
  const Dispatch dispatch = make_dispatch(detect_cpu(), Isa::kAmx, false, true);
  EXPECT_THAT(dispatch.messages, testing::IsEmpty());
  for (const EntryReport& report : dispatch.entries) {
    EXPECT_FALSE(report.disabled) << report.entry;
  }
}

// tests/lib/kernels/required: "entry set" lines. With the table capped at that set, the entry is
// filled by it.
TEST(Dispatch, RequiredEntriesComeFromTheirSet) {
  const CpuFeatures features = detect_cpu();
  std::map<Isa, Dispatch> capped;
  for (const Isa isa : make_dispatch(features, Isa::kAmx, false, false).usable) {
    capped[isa] = make_dispatch(features, isa, false, true);
  }
  std::ifstream file(fathom::test::test_data("lib/kernels/required"));
  int n_lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    ++n_lines;
    std::istringstream fields(line);
    std::string entry;
    std::string set;
    fields >> entry >> set;
    const Isa isa = isa_named(set);
    if (!capped.contains(isa)) {
      // A CPU that has a set must have it built, or the list says nothing.
      EXPECT_FALSE(features.has(isa)) << set << " is not built";
      continue;
    }
    const Dispatch& dispatch = capped.at(isa);
    const auto report = std::find_if(dispatch.entries.begin(), dispatch.entries.end(),
                                     [&](const EntryReport& r) { return r.entry == entry; });
    ASSERT_NE(report, dispatch.entries.end()) << "no entry " << entry;
    EXPECT_EQ(name_of(report->set), name_of(isa)) << entry;
  }
  EXPECT_GT(n_lines, 20);
}

}  // namespace
}  // namespace fathom::kernels

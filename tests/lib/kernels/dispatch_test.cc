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

CpuFeatures cpu_with(bool avx2, bool avx512, bool vnni) {
  CpuFeatures features;
  features.avx2 = avx2;
  features.avx512 = avx512;
  features.vnni = vnni;
  return features;
}

Isa isa_named(const std::string& name) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kVnni, Isa::kAmx}) {
    if (name_of(isa) == name) {
      return isa;
    }
  }
  ADD_FAILURE() << "no set " << name;
  return Isa::kScalar;
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
  const CpuFeatures all = cpu_with(true, true, true);
  const Dispatch capped = make_dispatch(all, Isa::kScalar, true, false);
  EXPECT_EQ(capped.isa, Isa::kScalar);
  for (const KernelSet& set : built_sets()) {
    const Dispatch dispatch = make_dispatch(all, set.isa, true, false);
    EXPECT_EQ(dispatch.isa, set.isa);
    for (const EntryReport& report : dispatch.entries) {
      EXPECT_LE(report.set, set.isa) << report.entry;
    }
  }
}

TEST(Dispatch, ImpossibleRequestsAreErrors) {
  test::expect_error([] { make_dispatch(cpu_with(true, true, true), Isa::kAmx, true, false); },
                     ErrorCode::kUnsupported, {"FATHOM_ISA=amx", "this build has no amx kernels"});
  for (const KernelSet& set : built_sets()) {
    test::expect_error(
        [&] { make_dispatch(CpuFeatures(), set.isa, true, false); }, ErrorCode::kUnsupported,
        {"FATHOM_ISA=" + std::string(name_of(set.isa)), "this CPU", "choose one of scalar"});
  }
  // As a default cap it is no request.
  EXPECT_EQ(make_dispatch(CpuFeatures(), Isa::kAmx, false, false).isa, Isa::kScalar);
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

// Overlays the usable instruction sets on the scalar table, entry by entry, and proves each.
// Called by api, apps/inspect. Read next: kernels/self_test.cc, kernels/sets.h.
#include "kernels/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "kernels/entries.h"
#include "kernels/self_test.h"
#include "kernels/sets.h"

namespace fathom::kernels {

namespace {

// The table as it stands after one more set.
struct Layer {
  Isa isa = Isa::kScalar;
  KernelTable table;
};

std::vector<Layer> make_layers(std::span<const KernelSet> sets) {
  std::vector<Layer> layers = {{Isa::kScalar, scalar_table()}};
  for (const KernelSet& set : sets) {
    Layer layer = {set.isa, layers.back().table};
    set.fill(layer.table);
    layers.push_back(layer);
  }
  return layers;
}

// Whether the set's function is not always the fastest: integer products of tiles.
bool may_be_slower(const Entry& entry, Isa isa) {
  return isa == Isa::kAmx && entry.family == Family::kMatmulMany &&
         entry.index != static_cast<int>(DType::kBF16);
}

// Chooses the highest layer whose function passes; writes it to the table and the report.
void choose_entry(const Entry& entry, const std::vector<Layer>& layers, bool self_test,
                  Dispatch* out) {
  EntryReport report;
  report.entry = entry.name();
  std::string failed;  // sets whose twin was taken out
  bool has_chosen = false;
  for (size_t i = layers.size(); i-- > 0;) {
    const Layer& layer = layers[i];
    if (i > 0 && is_same_entry(entry, layer.table, layers[i - 1].table)) {
      continue;  // this set does not fill it
    }
    if (self_test && !entry_passes(entry, layer.table, layers.front().table)) {
      failed += failed.empty() ? "" : " and ";
      failed += name_of(layer.isa);
      continue;
    }
    if (has_chosen) {
      out->table.matmul_many_also[entry.index] = layer.table.matmul_many[entry.index];
      break;
    }
    report.set = layer.isa;
    copy_entry(entry, layer.table, &out->table);
    has_chosen = true;
    if (!may_be_slower(entry, layer.isa)) {
      break;
    }
  }
  if (!failed.empty()) {
    report.disabled = true;
    out->messages.push_back(
        fmt::format("kernel {}: {} differs from scalar in the self-test and is disabled; using {}",
                    report.entry, failed, name_of(report.set)));
  }
  out->entries.push_back(std::move(report));
}

bool holds(const std::vector<Isa>& sets, Isa isa) {
  return std::find(sets.begin(), sets.end(), isa) != sets.end();
}

std::string join(const std::vector<Isa>& sets) {
  std::string text;
  for (const Isa isa : sets) {
    text += text.empty() ? "" : " ";
    text += name_of(isa);
  }
  return text;
}

void check_request(Isa cap, const std::vector<Isa>& built, const std::vector<Isa>& usable) {
  if (!holds(built, cap)) {
    fail(ErrorCode::kUnsupported,
         fmt::format(
             "FATHOM_ISA={0}: this build has no {0} kernels, only {1}; choose one of {2}, or "
             "unset FATHOM_ISA",
             name_of(cap), join(built), join(usable)));
  }
  if (!holds(usable, cap)) {
    fail(ErrorCode::kUnsupported,
         fmt::format(
             "FATHOM_ISA={0}: this CPU or operating system does not offer {0}; choose one of "
             "{1}, or unset FATHOM_ISA",
             name_of(cap), join(usable)));
  }
}

}  // namespace

std::vector<KernelSet> built_sets() {
  std::vector<KernelSet> sets;
#ifdef FATHOM_HAVE_NEON
  sets.push_back({Isa::kNeon, fill_neon});
#endif
#ifdef FATHOM_HAVE_DOTPROD
  sets.push_back({Isa::kDotprod, fill_dotprod});
#endif
#ifdef FATHOM_HAVE_I8MM
  sets.push_back({Isa::kI8mm, fill_i8mm});
#endif
#ifdef FATHOM_HAVE_AVX2
  sets.push_back({Isa::kAvx2, fill_avx2});
#endif
#ifdef FATHOM_HAVE_AVX512
  sets.push_back({Isa::kAvx512, fill_avx512});
#endif
#ifdef FATHOM_HAVE_VNNI
  sets.push_back({Isa::kVnni, fill_vnni});
#endif
#ifdef FATHOM_HAVE_AMX
  sets.push_back({Isa::kAmx, fill_amx});
#endif
  return sets;
}

Dispatch overlay_sets(std::span<const KernelSet> sets, bool self_test) {
  const std::vector<Layer> layers = make_layers(sets);
  Dispatch out;
  out.isa = layers.back().isa;
  for (const Entry& entry : all_entries()) {
    choose_entry(entry, layers, self_test, &out);
  }
  return out;
}

Dispatch make_dispatch(const CpuFeatures& features, Isa cap, bool cap_is_request, bool self_test) {
  std::vector<Isa> built = {Isa::kScalar};
  std::vector<Isa> usable = {Isa::kScalar};
  std::vector<KernelSet> sets;
  for (const KernelSet& set : built_sets()) {
    built.push_back(set.isa);
    const bool is_wanted = set.isa <= cap;
    if (features.has(set.isa) && (set.isa != Isa::kAmx || !is_wanted || request_tiles())) {
      usable.push_back(set.isa);
      if (is_wanted) {
        sets.push_back(set);
      }
    }
  }
  if (cap_is_request) {
    check_request(cap, built, usable);
  }
  Dispatch out = overlay_sets(sets, self_test);
  out.built = std::move(built);
  out.usable = std::move(usable);
  return out;
}

}  // namespace fathom::kernels

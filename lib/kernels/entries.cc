// Names and places of the entries of a KernelTable.
// Called by kernels/dispatch, kernels/self_test, tests. Read next: kernels/table.h.
#include "kernels/entries.h"

#include <array>
#include <cstring>

namespace fathom::kernels {

namespace {

// All function pointers have one size; an entry is copied and compared as these bytes.
constexpr size_t kPointerBytes = sizeof(MatmulFn);

class List {
 public:
  void single(Family family, size_t offset) { entries_.push_back({family, 0, "", offset}); }

  template <size_t kCount>
  void array(Family family, size_t offset, const std::array<std::string_view, kCount>& variants) {
    for (size_t i = 0; i < kCount; ++i) {
      entries_.push_back({family, static_cast<int>(i), variants[i], offset + i * kPointerBytes});
    }
  }

  void by_packed_type(Family family, size_t offset, bool with_floats = true) {
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto type = static_cast<DType>(i);
      const bool is_float = type == DType::kF32 || type == DType::kBF16;
      if (quant::is_packed_type(type) && (with_floats || !is_float)) {
        const auto at = static_cast<size_t>(i) * kPointerBytes;
        entries_.push_back({family, i, fathom::name_of(type), offset + at});
      }
    }
  }

  std::vector<Entry> take() { return std::move(entries_); }

 private:
  std::vector<Entry> entries_;
};

std::vector<Entry> make_entries() {
  static constexpr std::array<std::string_view, kNumActivations> kActivations = {
      "silu", "gelu_tanh", "gelu_erf", "relu", "relu2", "quick_gelu"};
  static constexpr std::array<std::string_view, 2> kRopes = {"halves", "pairs"};
  static constexpr std::array<std::string_view, kNumPageTypes> kPages = {"bf16", "f32", "int8"};
  List list;
  list.by_packed_type(Family::kMatmulFew, offsetof(KernelTable, matmul_few));
  list.by_packed_type(Family::kMatmulMany, offsetof(KernelTable, matmul_many));
  list.by_packed_type(Family::kMatmulCoarse, offsetof(KernelTable, matmul_coarse), false);
  list.single(Family::kQuantizeRow, offsetof(KernelTable, quantize_row));
  list.single(Family::kQuantizeCoarseRow, offsetof(KernelTable, quantize_coarse_row));
  list.single(Family::kRoundRowBf16, offsetof(KernelTable, round_row_bf16));
  list.single(Family::kCopyRowF32, offsetof(KernelTable, copy_row_f32));
  list.single(Family::kRmsNorm, offsetof(KernelTable, rms_norm));
  list.single(Family::kLayerNorm, offsetof(KernelTable, layer_norm));
  list.array(Family::kGated, offsetof(KernelTable, gated), kActivations);
  list.array(Family::kActivate, offsetof(KernelTable, activate), kActivations);
  list.single(Family::kClampedSwiglu, offsetof(KernelTable, clamped_swiglu));
  list.single(Family::kAdd, offsetof(KernelTable, add));
  list.single(Family::kScale, offsetof(KernelTable, scale));
  list.single(Family::kAddScaled, offsetof(KernelTable, add_scaled));
  list.single(Family::kClamp, offsetof(KernelTable, clamp));
  list.single(Family::kSoftCap, offsetof(KernelTable, soft_cap));
  list.array(Family::kRope, offsetof(KernelTable, rope), kRopes);
  list.array(Family::kWriteK, offsetof(KernelTable, write_k), kPages);
  list.array(Family::kWriteV, offsetof(KernelTable, write_v), kPages);
  list.array(Family::kAttendSpan, offsetof(KernelTable, attend_span), kPages);
  list.single(Family::kMergeSpan, offsetof(KernelTable, merge_span));
  list.single(Family::kFinishAttend, offsetof(KernelTable, finish_attend));
  return list.take();
}

const std::byte* bytes_of(const KernelTable& table) {
  return reinterpret_cast<const std::byte*>(&table);
}

}  // namespace

std::string_view name_of(Family family) {
  static constexpr std::array<std::string_view, 23> kNames = {
      "matmul_few",     "matmul_many",    "matmul_coarse", "quantize_row", "quantize_coarse_row",
      "round_row_bf16", "copy_row_f32",   "rms_norm",      "layer_norm",   "gated",
      "activate",       "clamped_swiglu", "add",           "scale",        "add_scaled",
      "clamp",          "soft_cap",       "rope",          "write_k",      "write_v",
      "attend_span",    "merge_span",     "finish_attend"};
  return kNames[static_cast<size_t>(family)];
}

std::string Entry::name() const {
  std::string name(name_of(family));
  if (!variant.empty()) {
    name.append(".").append(variant);
  }
  return name;
}

const std::vector<Entry>& all_entries() {
  static const std::vector<Entry> kEntries = make_entries();
  return kEntries;
}

bool is_same_entry(const Entry& entry, const KernelTable& a, const KernelTable& b) {
  return std::memcmp(bytes_of(a) + entry.offset, bytes_of(b) + entry.offset, kPointerBytes) == 0;
}

void copy_entry(const Entry& entry, const KernelTable& from, KernelTable* to) {
  std::memcpy(reinterpret_cast<std::byte*>(to) + entry.offset, bytes_of(from) + entry.offset,
              kPointerBytes);
}

}  // namespace fathom::kernels

// One flipped bit in one entry must break equality and be caught by the self-test.
#include "kernels/self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/dispatch.h"
#include "kernels/probe.h"
#include "lib/kernels/tile_trap.h"

namespace fathom::kernels {
namespace {

// Kernels that call scalar and then flip the last bit of one output.

void flip(float* x) {
  *x = std::bit_cast<float>(std::bit_cast<uint32_t>(*x) ^ 1U);
}

template <DType kType>
void flipped_coarse(const MatmulArgs& args) noexcept {
  scalar_table().matmul_coarse[static_cast<int>(kType)](args);
  flip(args.out + (args.n_rows - 1) * args.out_stride + 15);
}

template <bool kMany, DType kType>
void flipped_matmul(const MatmulArgs& args) noexcept {
  const KernelTable table = scalar_table();
  (kMany ? table.matmul_many : table.matmul_few)[static_cast<int>(kType)](args);
  flip(args.out + (args.n_rows - 1) * args.out_stride + 15);
}

void flipped_norm(const float* x, const float* w, int64_t n, float eps, float* y) noexcept {
  scalar_table().rms_norm(x, w, n, eps, y);
  flip(y + n - 1);
}

void flipped_attend(const AttendArgs& args) noexcept {
  scalar_table().attend_span[static_cast<int>(PageType::kBF16)](args);
  flip(args.o);
}

// Right as long as it gets no slopes.
void flipped_slopes(const AttendArgs& args) noexcept {
  scalar_table().attend_span[static_cast<int>(PageType::kF32)](args);
  if (args.slopes != nullptr) {
    flip(args.o);
  }
}

void flipped_layer_norm(const float* x, const float* w, const float* b, int64_t n, float eps,
                        float* y) noexcept {
  scalar_table().layer_norm(x, w, b, n, eps, y);
  if (w == nullptr && b != nullptr) {
    flip(y + n - 1);
  }
}

bool flipped_quantize(const QuantizeArgs& args) noexcept {
  const bool is_finite = scalar_table().quantize_row(args);
  flip(args.d + (args.first_block * args.n_rows + args.row));
  return is_finite;
}

bool flipped_quantize_coarse(const CoarseRowArgs& args) noexcept {
  const bool is_finite = scalar_table().quantize_coarse_row(args);
  args.q[args.row * 64] = static_cast<int8_t>(args.q[args.row * 64] ^ 1);
  return is_finite;
}

void flipped_rope(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  scalar_table().rope[static_cast<int>(RopeStyle::kPairs)](x, cos, sin, n_pairs);
  flip(x);
}

// A set whose entries are all wrong.
void fill_flipped(KernelTable& table) {
  table.matmul_few[static_cast<int>(DType::kQ4_K)] = flipped_matmul<false, DType::kQ4_K>;
  table.matmul_many[static_cast<int>(DType::kBF16)] = flipped_matmul<true, DType::kBF16>;
  table.matmul_coarse[static_cast<int>(DType::kQ6_K)] = flipped_coarse<DType::kQ6_K>;
  table.quantize_coarse_row = flipped_quantize_coarse;
  table.rms_norm = flipped_norm;
  table.layer_norm = flipped_layer_norm;
  table.attend_span[static_cast<int>(PageType::kBF16)] = flipped_attend;
  table.attend_span[static_cast<int>(PageType::kF32)] = flipped_slopes;
  table.quantize_row = flipped_quantize;
  table.rope[static_cast<int>(RopeStyle::kPairs)] = flipped_rope;
}

// A right twin: another function with the same bits.
void right_norm(const float* x, const float* w, int64_t n, float eps, float* y) noexcept {
  scalar_table().rms_norm(x, w, n, eps, y);
}

void fill_right_norm(KernelTable& table) {
  table.rms_norm = right_norm;
}

constexpr std::array<std::string_view, 10> kFlipped = {
    "matmul_few.Q4_K",     "matmul_many.BF16", "matmul_coarse.Q6_K", "quantize_row",
    "quantize_coarse_row", "rms_norm",         "layer_norm",         "rope.pairs",
    "attend_span.bf16",    "attend_span.f32"};

TEST(SelfTest, OneFlippedBitIsSeen) {
  const KernelTable scalar = scalar_table();
  KernelTable flipped = scalar;
  fill_flipped(flipped);
  for (const Entry& entry : all_entries()) {
    const bool is_flipped =
        std::find(kFlipped.begin(), kFlipped.end(), entry.name()) != kFlipped.end();
    EXPECT_EQ(entry_passes(entry, flipped, scalar), !is_flipped) << entry.name();
    EXPECT_EQ(probe_entry(entry, flipped) == probe_entry(entry, scalar) &&
                  probe_options(entry, flipped) == probe_options(entry, scalar),
              !is_flipped)
        << entry.name();
  }
}

TEST(SelfTest, DisablesTheEntryAndSaysSo) {
  const KernelSet sets[] = {{Isa::kAvx2, fill_right_norm}, {Isa::kVnni, fill_flipped}};
  const Dispatch dispatch = overlay_sets(sets, true);
  EXPECT_EQ(dispatch.messages.size(), kFlipped.size());
  for (const EntryReport& report : dispatch.entries) {
    const bool is_flipped =
        std::find(kFlipped.begin(), kFlipped.end(), report.entry) != kFlipped.end();
    EXPECT_EQ(report.disabled, is_flipped) << report.entry;
    // rms_norm falls to the lower set that is right, the others to scalar.
    EXPECT_EQ(report.set, report.entry == "rms_norm" ? Isa::kAvx2 : Isa::kScalar) << report.entry;
  }
  EXPECT_EQ(dispatch.table.rms_norm, right_norm);
  EXPECT_EQ(dispatch.table.quantize_row, scalar_table().quantize_row);
  EXPECT_EQ(dispatch.messages.front(),
            "kernel matmul_few.Q4_K: vnni differs from scalar in the self-test and is disabled; "
            "using scalar");
}

// The compiled kernels of amx, with every tile instruction caught where the CPU has none.
TEST(SelfTest, TilesPassItAndAreTaken) {
  const CpuFeatures features = detect_cpu();
  const std::vector<KernelSet> sets = built_sets();
  if (!features.vnni || features.amx || sets.back().isa != Isa::kAmx) {
    GTEST_SKIP() << "the CPU lacks AVX-512 VNNI, or has AMX itself (then Dispatch.* run on it)";
  }
  const isa_test::TileTrap trap;
  const Dispatch dispatch = overlay_sets(sets, true);
  EXPECT_THAT(dispatch.messages, testing::IsEmpty());
  const auto n_tiles = std::ranges::count(dispatch.entries, Isa::kAmx, &EntryReport::set);
  // Products of many rows: BF16, scale groups of 32 k, and all re-scaled ones.
  EXPECT_EQ(n_tiles, 13 + 15);
  EXPECT_GT(isa_test::TileTrap::count(), 12 * 8);
}

TEST(SelfTest, WithoutItTheHighestSetStays) {
  const KernelSet sets[] = {{Isa::kAvx2, fill_right_norm}, {Isa::kVnni, fill_flipped}};
  const Dispatch dispatch = overlay_sets(sets, false);
  EXPECT_TRUE(dispatch.messages.empty());
  EXPECT_EQ(dispatch.table.rms_norm, flipped_norm);
}

}  // namespace
}  // namespace fathom::kernels

// Every matrix product of every instruction set of this CPU gives the bits of the scalar one.
// Read next: kernels/scalar/matmul.cc, lib/kernels/lanes/gemv.h, gemm.h. The products of tiles run
// on every machine: modelled, and, where the CPU has AVX-512 VNNI but no AMX, as they are compiled
// with every tile instruction caught.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "lib/kernels/isa_tables.h"
#include "lib/kernels/model_tile_table.h"
#include "lib/kernels/tile_trap.h"
#include "quant/packed.h"
#include "quant/packed_block.h"

namespace fathom::kernels {

namespace {

using isa_test::AlignedBytes;
using isa_test::first_difference;
using isa_test::IsaTable;
using isa_test::TileTrap;
using isa_test::Values;
using quant::kBlockK;
using quant::kGroupRows;

constexpr DType kTypes[] = {
    DType::kF32,    DType::kBF16,   DType::kQ4_0,  DType::kQ4_1,    DType::kQ5_0,   DType::kQ5_1,
    DType::kQ8_0,   DType::kQ2_K,   DType::kQ3_K,  DType::kQ4_K,    DType::kQ5_K,   DType::kQ6_K,
    DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4, DType::kI4Group, DType::kI8Group};

bool is_super_block(DType type) {
  return type == DType::kQ2_K || type == DType::kQ3_K || type == DType::kQ4_K ||
         type == DType::kQ5_K || type == DType::kQ6_K || type == DType::kIQ4_XS;
}

// A finite f16: any sign, exponents that keep sums finite, denormals and zeros among them.
uint16_t finite_f16(Values* values) {
  const uint32_t bits = values->bits();
  const uint32_t exponent = bits % 7 == 0 ? 0 : 5 + bits % 18;
  return static_cast<uint16_t>((bits >> 16 & 0x83FFU) | exponent << 10);
}

void put_f16(std::byte* section, int count, Values* values) {
  for (int i = 0; i < count; ++i) {
    const uint16_t h = finite_f16(values);
    std::memcpy(section + static_cast<ptrdiff_t>(i) * 2, &h, sizeof h);
  }
}

// Random bytes are valid codes; scales must be finite. `extreme`: all codes at one end.
void fill_tile(DType type, int n_blocks, bool extreme, std::byte* tile, Values* values) {
  const quant::TileLayout layout = quant::tile_layout(type, n_blocks);
  const uint32_t ends = values->bits();
  for (int i = 0; i < layout.bytes; ++i) {
    const uint32_t byte = extreme ? (ends >> (i / 64 % 32) & 1U) * 255U : values->bits();
    tile[i] = static_cast<std::byte>(byte);
  }
  if (type == DType::kMXFP4) {
    for (int i = 0; i < n_blocks * kGroupRows; ++i) {  // any exponent but 255, sums stay finite
      tile[layout.scales + i] = static_cast<std::byte>(values->bits() % 240);
    }
    return;
  }
  if (layout.zeros >= 0) {
    for (int i = 0; i < n_blocks * kGroupRows; ++i) {
      const float scale = i % 13 == 4 ? values->denormal() : values->wide(20);
      std::memcpy(tile + layout.scales + static_cast<ptrdiff_t>(i) * 4, &scale, sizeof scale);
    }
    return;
  }
  const int n_scales = layout.sub < 0 ? n_blocks * kGroupRows : kGroupRows;
  put_f16(tile + layout.scales, n_scales, values);
  if (layout.mins >= 0) {
    put_f16(tile + layout.mins, n_scales, values);
  }
}

void fill_floats(DType type, int64_t n, std::byte* out, Values* values) {
  for (int64_t i = 0; i < n; ++i) {
    float x = i % 97 == 5 ? values->denormal() : values->wide(20);
    if (type == DType::kF32) {
      std::memcpy(out + i * 4, &x, 4);
    } else {
      x = std::fabs(x) < 0x1p-50F ? 0.0F : x;
      const auto half = static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
      std::memcpy(out + i * 2, &half, 2);
    }
  }
}

void fill_group(DType type, int64_t n_cols, bool extreme, std::byte* out, Values* values) {
  auto n_blocks = static_cast<int>((n_cols + kBlockK - 1) / kBlockK);
  if (type == DType::kF32 || type == DType::kBF16) {
    fill_floats(type, static_cast<int64_t>(n_blocks) * kBlockK * kGroupRows, out, values);
    return;
  }
  for (; n_blocks > 0; n_blocks -= 8) {
    const int nb = std::min(n_blocks, 8);
    fill_tile(type, nb, extreme, out, values);
    out += quant::tile_layout(type, nb).bytes;
  }
}

// Rows of activations in all forms, made by the scalar kernels.
struct Activations {
  Activations(int64_t n_rows, int64_t n_cols, bool extreme, Values* values) {
    const int64_t n_blocks = (n_cols + kBlockK - 1) / kBlockK;
    const auto slots = static_cast<size_t>(n_blocks * n_rows);
    q.resize(slots * kBlockK);
    bf16.resize(slots * kBlockK);
    f32.resize(slots * kBlockK);
    halves.resize(slots * kBlockK);
    d.resize(slots);
    ds.resize(slots);
    sums.resize(slots);
    half_sums.resize(slots * 2);
    const auto n_steps = static_cast<size_t>((n_blocks + 1) / 2 * n_rows);
    const auto n_coarse = static_cast<size_t>((n_blocks + 7) / 8 * n_rows);
    coarse_q.resize(n_steps * 64);
    coarse_d.resize(n_coarse);
    coarse_sums.resize(n_coarse);
    const KernelTable scalar = scalar_table();
    std::vector<float> x(static_cast<size_t>(n_cols));
    for (int64_t row = 0; row < n_rows; ++row) {
      for (float& value : x) {
        value = extreme ? (values->integer(0, 1) == 0 ? 3.5F : -3.5F) : values->wide(6);
      }
      if (row % 5 == 4) {
        std::fill(x.begin(), x.begin() + std::min<int64_t>(n_cols, 40), 0x1p-110F);  // a zero block
      }
      scalar.quantize_row({x.data(), n_cols, row, n_rows, 0, q.data(), d.data(), ds.data(),
                           sums.data(), half_sums.data()});
      scalar.quantize_coarse_row(
          {x.data(), n_cols, row, n_rows, 0, coarse_q.data(), coarse_d.data(), coarse_sums.data()});
      scalar.round_row_bf16({x.data(), n_cols, row, n_rows, 0, bf16.data(), halves.data()});
      scalar.copy_row_f32({x.data(), n_cols, row, n_rows, 0, f32.data()});
    }
    view = {n_rows,      n_blocks,         q.data(),    d.data(),  ds.data(),
            sums.data(), half_sums.data(), bf16.data(), f32.data()};
    view.halves = halves.data();
    view.coarse_q = coarse_q.data();
    view.coarse_d = coarse_d.data();
    view.coarse_sums = coarse_sums.data();
  }

  std::vector<int8_t> q, coarse_q;
  std::vector<float> d, ds, bf16, f32, coarse_d;
  std::vector<int32_t> sums, half_sums, coarse_sums;
  std::vector<uint16_t> halves;
  RowsView view;
};

struct Shape {
  int n_groups;
  int64_t n_cols;
  int64_t n_rows;
  bool extreme = false;
};

class MatmulIsaTest : public testing::TestWithParam<DType> {
 protected:
  // Runs the product of `shape` by scalar and by every set; two rows lie before and one after those
  // used.
  void compare(const Shape& shape) {
    const DType type = GetParam();
    const int64_t group_bytes = quant::group_bytes(type, shape.n_cols);
    const int64_t stride = group_bytes + 128;
    AlignedBytes weights(static_cast<size_t>(stride * shape.n_groups));
    for (int g = 0; g < shape.n_groups; ++g) {
      fill_group(type, shape.n_cols, shape.extreme, weights.data() + g * stride, &values_);
    }
    const Activations rows(shape.n_rows + 3, shape.n_cols, shape.extreme, &values_);
    MatmulArgs args;
    args.weights = weights.data();
    args.group_stride_bytes = stride;
    args.n_groups = shape.n_groups;
    args.n_cols = shape.n_cols;
    args.rows = rows.view;
    args.first_row = 2;
    args.n_rows = shape.n_rows;
    args.out_stride = 16 * shape.n_groups + 7;
    args.scratch = scratch_.data();
    const auto size = static_cast<size_t>(args.out_stride * shape.n_rows);
    compare(shape, args, {"few", &KernelTable::matmul_few, &KernelTable::matmul_many}, size);
    compare(shape, args, {"many", &KernelTable::matmul_many, &KernelTable::matmul_many}, size);
    compare(shape, args, {"coarse", &KernelTable::matmul_coarse, &KernelTable::matmul_coarse},
            size);
  }

  using Entries = MatmulFn (KernelTable::*)[kNumDTypes];

  // A family of entries, and the scalar one that defines it.
  struct Product {
    const char* name;
    Entries entries;
    Entries definition;
  };

  void compare(const Shape& shape, MatmulArgs args, const Product& product, size_t size) {
    const auto type = static_cast<size_t>(GetParam());
    const MatmulFn definition = (scalar_.*product.definition)[type];
    const bool is_few = product.entries == &KernelTable::matmul_few;
    if (definition == nullptr || (is_few && shape.n_rows > kFewRows)) {
      return;
    }
    std::vector<float> expected(size, -7.0F);
    args.out = expected.data();
    definition(args);
    for (const IsaTable& isa : tables_) {
      std::vector<float> found(size, -7.0F);
      args.out = found.data();
      (isa.table.*product.entries)[type](args);
      const int64_t at = first_difference(expected, found);
      ASSERT_EQ(at, -1) << isa.name << ' ' << product.name << ' ' << name_of(GetParam())
                        << " groups " << shape.n_groups << " cols " << shape.n_cols << " rows "
                        << shape.n_rows << ": row " << at / args.out_stride << " output "
                        << at % args.out_stride << " is " << found[static_cast<size_t>(at)]
                        << ", scalar " << expected[static_cast<size_t>(at)];
    }
  }

  std::vector<IsaTable> make_tables() {
    std::vector<IsaTable> tables = isa_test::tables_and_caught_tiles(&trap_);
    tables.push_back({"modelled tiles", isa_test::model_tile_table()});
    return tables;
  }

  std::optional<TileTrap> trap_;
  std::vector<IsaTable> tables_ = make_tables();
  KernelTable scalar_ = scalar_table();
  AlignedBytes scratch_{kMatmulScratchBytes};
  Values values_{20240611};
};

TEST_P(MatmulIsaTest, EveryTailOfK) {
  const bool has_blocks = GetParam() != DType::kF32 && GetParam() != DType::kBF16;
  const std::vector<int64_t> sizes =
      is_super_block(GetParam()) ? std::vector<int64_t>{256, 512, 768, 1280, 2048}
      : has_blocks               ? std::vector<int64_t>{32, 96, 256, 288, 512, 544, 576, 1120}
                   : std::vector<int64_t>{1, 32, 33, 63, 96, 256, 527, 544, 576, 1120};
  for (const int64_t n_cols : sizes) {
    compare({2, n_cols, 1});
    compare({3, n_cols, 4});
    compare({4, n_cols, 7});
  }
}

TEST_P(MatmulIsaTest, EveryNumberOfRows) {
  for (int64_t n_rows = 1; n_rows <= 14; ++n_rows) {
    compare({1, 768, n_rows});
  }
  for (const int64_t n_rows : {31, 65}) {
    compare({2, 768, n_rows});
  }
}

TEST_P(MatmulIsaTest, MoreRowsThanOneChunk) {
  compare({3, 256, 263});
  compare({2, 512, 260});
  compare({3, 768, 97});
}

// 16 rows are a tile; a block, an odd number of them, a segment and a block, three segments.
TEST_P(MatmulIsaTest, WholeTilesOfRows) {
  const bool is_super = is_super_block(GetParam());
  for (const int64_t n_blocks : {1, 5, 17, 33}) {
    const int64_t n_cols = (is_super ? (n_blocks + 7) / 8 * 8 : n_blocks) * kBlockK;
    compare({1, n_cols, 16});
    compare({2, n_cols, 37});
    compare({3, n_cols, 32, true});
  }
  compare({4, 768, 49});
  compare({4, 256, 16, true});
  if (trap_) {
    const bool has_tiles = GetParam() != DType::kF32;
    EXPECT_EQ(TileTrap::count() > 1000, has_tiles) << TileTrap::count();
  }
}

TEST_P(MatmulIsaTest, EveryNumberOfGroups) {
  for (int n_groups = 1; n_groups <= 4; ++n_groups) {
    for (const int64_t n_rows : {1, 2, 3, 4, 5, 9}) {
      compare({n_groups, 1024, n_rows});
    }
  }
}

TEST_P(MatmulIsaTest, CodesAndActivationsAtTheirEnds) {
  for (int i = 0; i < 6; ++i) {
    compare({4, 1024, 3, true});
    compare({2, 512, 13, true});
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatmulIsaTest, testing::ValuesIn(kTypes),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace

}  // namespace fathom::kernels

// A kernel table whose products of many rows are the templates of lanes/tile_gemm.h and
// tile_coarse.h over plain lanes and modelled tiles: what amx runs, on any machine. Called by
// matmul_isa_test.cc.
#pragma once

#include "kernels/dispatch.h"
#include "kernels/lanes/tile_coarse.h"
#include "kernels/lanes/tile_float.h"
#include "kernels/lanes/tile_gemm.h"
#include "kernels/lanes/weights.h"
#include "lib/kernels/model_tiles.h"
#include "lib/kernels/plain_lanes.h"

namespace fathom::kernels::isa_test {

namespace {

inline KernelTable model_tile_table() {
  KernelTable table = scalar_table();
  for_each_type<PlainLanes>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_coarse[static_cast<int>(W::kDType)] = tile_coarse<W, PlainCoarseDot, ModelTiles>;
    if constexpr (W::kGroupK == quant::kBlockK) {
      table.matmul_many[static_cast<int>(W::kDType)] = tile_many<W, PlainDot, ModelTiles>;
    }
  });
  table.matmul_many[static_cast<int>(DType::kBF16)] = tile_float_many<PlainLanes, ModelTiles>;
  return table;
}

}  // namespace

}  // namespace fathom::kernels::isa_test

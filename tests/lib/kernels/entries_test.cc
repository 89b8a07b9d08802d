// The list of entries covers the whole table, each once.
#include "kernels/entries.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "kernels/dispatch.h"

namespace fathom::kernels {
namespace {

TEST(Entries, CoverEveryPointerThatScalarFills) {
  const KernelTable table = scalar_table();
  std::set<size_t> offsets;
  std::set<std::string> names;
  for (const Entry& entry : all_entries()) {
    offsets.insert(entry.offset);
    names.insert(entry.name());
  }
  EXPECT_EQ(offsets.size(), all_entries().size());
  EXPECT_EQ(names.size(), all_entries().size());
  size_t n_filled = 0;
  for (size_t at = 0; at < sizeof table; at += sizeof(MatmulFn)) {
    uintptr_t pointer = 0;
    std::memcpy(&pointer, reinterpret_cast<const std::byte*>(&table) + at, sizeof pointer);
    EXPECT_EQ(pointer != 0, offsets.contains(at)) << "offset " << at;
    n_filled += pointer != 0 ? 1 : 0;
  }
  EXPECT_EQ(n_filled, all_entries().size());
}

TEST(Entries, Names) {
  std::set<std::string> names;
  for (const Entry& entry : all_entries()) {
    names.insert(entry.name());
  }
  for (const char* name :
       {"matmul_few.Q4_0", "matmul_many.BF16", "matmul_coarse.Q4_K", "quantize_coarse_row",
        "rms_norm", "gated.gelu_tanh", "rope.pairs", "layer_norm", "activate.quick_gelu",
        "gated.relu2", "clamped_swiglu", "add_scaled", "clamp", "attend_span.bf16", "write_v.f32",
        "finish_attend"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_FALSE(names.contains("matmul_coarse.BF16"));  // of integers only
  EXPECT_FALSE(names.contains("matmul_few.F16"));      // packed as BF16
}

TEST(Entries, CopyMovesOnePointer) {
  const KernelTable scalar = scalar_table();
  KernelTable copy;
  const Entry& entry = all_entries().front();
  EXPECT_FALSE(is_same_entry(entry, scalar, copy));
  copy_entry(entry, scalar, &copy);
  EXPECT_TRUE(is_same_entry(entry, scalar, copy));
  EXPECT_EQ(copy.matmul_few[0], scalar.matmul_few[0]);
  EXPECT_EQ(copy.add, nullptr);
}

}  // namespace
}  // namespace fathom::kernels

// Pages and attention of every instruction set of this CPU give the bits of the scalar kernels.
// Read next: kernels/scalar/attend.cc, lib/kernels/lanes/attend.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "lib/kernels/isa_tables.h"
#include "lib/kernels/tile_trap.h"

namespace fathom::kernels {

namespace {

using isa_test::AlignedBytes;
using isa_test::first_difference;
using isa_test::IsaTable;
using isa_test::Values;

// Bytes of K or of V of one head in a page.
size_t page_bytes(int type, int dim) {
  return static_cast<size_t>(page_half_bytes(static_cast<PageType>(type), dim));
}

struct Case {
  int type;  // PageType
  int head_dim;
  int n_rows;
  int n_tokens;  // in the span
  float soft_cap = 0.0F;
  float spread = 1.0F;  // of q
  int narrower = 0;     // dims that V lacks
  bool has_slopes = false;

  [[nodiscard]] int value_dim() const { return head_dim - narrower; }
};

class AttendIsaTest : public testing::Test {
 protected:
  // A span of pages, written by the scalar kernels; tails stay zero.
  struct Span {
    std::vector<AlignedBytes> storage;
    std::vector<const std::byte*> k, v;
  };

  Span make_span(const Case& c) {
    Span span;
    std::vector<float> x(static_cast<size_t>(c.head_dim));  // V takes its first values
    const auto fill = [&] {
      for (float& value : x) {
        value = values_.integer(0, 30) == 0 ? values_.denormal() : values_.plain();
      }
    };
    for (int start = 0; start < c.n_tokens; start += kPageTokens) {
      span.storage.emplace_back(page_bytes(c.type, c.head_dim));
      std::byte* const k = span.storage.back().data();
      span.storage.emplace_back(page_bytes(c.type, c.value_dim()));
      std::byte* const v = span.storage.back().data();
      for (int slot = 0; slot < kPageTokens && start + slot < c.n_tokens; ++slot) {
        fill();
        scalar_.write_k[c.type](x.data(), c.head_dim, slot, k);
        fill();
        scalar_.write_v[c.type](x.data(), c.value_dim(), slot, v);
      }
      span.k.push_back(k);
      span.v.push_back(v);
    }
    return span;
  }

  // `first`, `last`: visible positions of each row.
  void compare(const Case& c, const std::vector<int64_t>& first, const std::vector<int64_t>& last) {
    const Span span = make_span(c);
    const int64_t q_stride = c.head_dim + 5;
    std::vector<float> q(static_cast<size_t>(q_stride * c.n_rows), 1e30F);
    for (int r = 0; r < c.n_rows; ++r) {
      for (int d = 0; d < c.head_dim; ++d) {
        q[static_cast<size_t>(r * q_stride + d)] = round_query(c, values_.plain() * c.spread);
      }
    }
    std::vector<float> slopes(static_cast<size_t>(c.n_rows));
    for (float& slope : slopes) {
      slope = values_.plain();
    }
    const auto run = [&](const KernelTable& table) {
      const auto n = static_cast<size_t>(c.n_rows);
      std::vector<float> out(n * static_cast<size_t>(c.value_dim() + 2) + 1, -7.0F);
      AttendArgs args;
      args.q = q.data();
      args.q_stride = q_stride;
      args.n_rows = c.n_rows;
      args.head_dim = c.head_dim;
      args.value_dim = c.value_dim();
      args.k = span.k.data();
      args.v = span.v.data();
      args.n_pages = static_cast<int>(span.k.size());
      args.first_position = kFirstPosition;
      args.first_visible = first.data();
      args.last_visible = last.data();
      args.scale = 0.125F;
      args.soft_cap = c.soft_cap;
      args.slopes = c.has_slopes ? slopes.data() : nullptr;
      args.m = out.data();
      args.l = out.data() + n;
      args.o = out.data() + 2 * n;
      args.scratch = scratch_.data();
      table.attend_span[c.type](args);
      return out;
    };
    const std::vector<float> expected = run(scalar_);
    for (const IsaTable& isa : tables_) {
      const std::vector<float> found = run(isa.table);
      const int64_t at = first_difference(expected, found);
      ASSERT_EQ(at, -1) << isa.name << " type " << c.type << " head_dim " << c.head_dim
                        << " value_dim " << c.value_dim() << " slopes " << c.has_slopes << " rows "
                        << c.n_rows << " tokens " << c.n_tokens << ": element " << at << " is "
                        << found[static_cast<size_t>(at)] << ", scalar "
                        << expected[static_cast<size_t>(at)];
    }
  }

  float round_query(const Case& c, float x) const {
    if (c.type != 0) {
      return x;
    }
    float out[32];
    scalar_.round_row_bf16({&x, 1, 0, 1, 0, out});
    return out[0];
  }

  // Rows are the last tokens of the span, `heads` rows to a token.
  void compare_causal(const Case& c, int heads, int64_t window) {
    std::vector<int64_t> first;
    std::vector<int64_t> last;
    for (int r = 0; r < c.n_rows; ++r) {
      const int64_t position = kFirstPosition + c.n_tokens - 1 - (c.n_rows - 1 - r) / heads;
      first.push_back(window == 0 ? 0 : std::max<int64_t>(0, position - window + 1));
      last.push_back(position);
    }
    compare(c, first, last);
  }

  static constexpr int64_t kFirstPosition = 3 * kSpanTokens;
  std::optional<isa_test::TileTrap> trap_;
  std::vector<IsaTable> tables_ = isa_test::tables_and_caught_tiles(&trap_);
  KernelTable scalar_ = scalar_table();
  AlignedBytes scratch_{kAttendScratchBytes};
  Values values_{11};
};

constexpr int kHeadDims[] = {2, 7, 16, 24, 31, 33, 64, 80, 96, 128, 256};

TEST_F(AttendIsaTest, WritesTheSamePages) {
  for (const int type : {0, 1, 2}) {
    for (const int head_dim : kHeadDims) {
      const size_t size = page_bytes(type, head_dim) + 64;
      std::vector<float> x(static_cast<size_t>(head_dim));
      const auto run = [&](const KernelTable& table, const auto& member, int slot) {
        AlignedBytes page(size);
        std::memset(page.data(), 0x5A, size);
        (table.*member)[type](x.data(), head_dim, slot, page.data());
        return std::vector<std::byte>(page.data(), page.data() + size);
      };
      for (int slot = 0; slot < kPageTokens; slot += 7) {
        for (float& value : x) {
          value = values_.wide(60);
        }
        x[0] = slot == 14 ? std::nanf("") : x[0];
        for (const IsaTable& isa : tables_) {
          EXPECT_EQ(run(isa.table, &KernelTable::write_k, slot),
                    run(scalar_, &KernelTable::write_k, slot))
              << isa.name << " type " << type << " head_dim " << head_dim << " slot " << slot;
          EXPECT_EQ(run(isa.table, &KernelTable::write_v, slot),
                    run(scalar_, &KernelTable::write_v, slot))
              << isa.name << " type " << type << " head_dim " << head_dim << " slot " << slot;
        }
      }
    }
  }
}

TEST_F(AttendIsaTest, EveryHeadDim) {
  for (const int type : {0, 1, 2}) {
    for (const int head_dim : kHeadDims) {
      compare_causal({type, head_dim, 3, 150}, 3, 0);
      compare_causal({type, head_dim, 1, 64}, 1, 0);
      compare_causal({type, head_dim, 14, 100}, 2, 0);
    }
  }
}

TEST_F(AttendIsaTest, EveryNumberOfRows) {
  for (const int type : {0, 1, 2}) {
    for (int n_rows = 1; n_rows <= 14; ++n_rows) {
      compare_causal({type, 64, n_rows, 130}, 1, 0);
    }
    compare_causal({type, 64, 64, 200}, 1, 0);
    compare_causal({type, 64, 63, 512}, 3, 0);
  }
}

// Sixteen rows and more may go through tiles. Sharp scores leave sums that later ones make tiny.
TEST_F(AttendIsaTest, ManyRowsOfEverySharpness) {
  for (const int head_dim : {32, 64, 96, 128, 256}) {
    for (const int n_rows : {15, 16, 17, 31, 48, 64}) {
      for (const float spread : {0.1F, 1.0F, 40.0F}) {
        Case c{0, head_dim, n_rows, 330};
        c.spread = spread;
        compare_causal(c, 1, 0);
        compare_causal(c, 4, 70);
        c.narrower = 16;
        compare_causal(c, 4, 0);
      }
    }
  }
}

TEST_F(AttendIsaTest, WindowsAndPartialPages) {
  for (const int type : {0, 1, 2}) {
    for (const int64_t window : {1, 5, 63, 64, 65, 128, 200}) {
      compare_causal({type, 64, 9, 300}, 1, window);
      compare_causal({type, 24, 64, 130}, 1, window);
    }
    for (const int n_tokens : {1, 2, 15, 16, 17, 63, 64, 65, 511, 512}) {
      compare_causal({type, 32, 1, n_tokens}, 1, 0);
    }
  }
}

// Rows of several sequences: some see nothing of a page, some nothing of the span.
TEST_F(AttendIsaTest, RowsThatSeeDifferentPages) {
  for (const int type : {0, 1, 2}) {
    for (int i = 0; i < 20; ++i) {
      const int n_rows = values_.integer(2, 40);
      std::vector<int64_t> first;
      std::vector<int64_t> last;
      for (int r = 0; r < n_rows; ++r) {
        const int64_t a = kFirstPosition + values_.integer(-100, 400);
        first.push_back(a);
        last.push_back(a + values_.integer(-3, 150));
      }
      compare({type, i % 2 == 0 ? 48 : 64, n_rows, 320}, first, last);
    }
  }
}

// Latents: keys up to 576 wide, values the first part of them.
TEST_F(AttendIsaTest, ValuesNarrowerThanKeys) {
  for (const int type : {0, 1, 2}) {
    for (const int narrower : {1, 3, 8, 15, 16, 40, 63}) {
      for (const int n_rows : {1, 5, 16}) {
        Case c{type, 64, n_rows, 150};
        c.narrower = narrower;
        compare_causal(c, 1, 0);
        c.head_dim = 79;
        compare_causal(c, 1, 70);
      }
    }
    for (const int n_rows : {1, 7, 64}) {
      Case c{type, 576, n_rows, 130};
      compare_causal(c, 1, 0);
      c.narrower = 64;
      compare_causal(c, 1, 0);
      c.head_dim = 575;
      compare_causal(c, 1, 0);
    }
  }
}

TEST_F(AttendIsaTest, Slopes) {
  for (const int type : {0, 1, 2}) {
    for (const float soft_cap : {0.0F, 20.0F}) {
      for (const int n_rows : {1, 3, 14, 64}) {
        Case c{type, 32, n_rows, 300, soft_cap};
        c.has_slopes = true;
        compare_causal(c, 2, 0);
        compare_causal(c, 1, 77);
        c.narrower = 9;
        compare_causal(c, 1, 0);
      }
    }
    // Distances that no f32 holds exactly, and a later span's rows.
    Case c{type, 16, 2, 200};
    c.has_slopes = true;
    compare(c, {0, 0}, {kFirstPosition + (int64_t{1} << 24) + 1, kFirstPosition + 5000});
  }
}

TEST_F(AttendIsaTest, SoftCapAndLargeScores) {
  for (const int type : {0, 1, 2}) {
    compare_causal({type, 64, 5, 200, 50.0F}, 1, 0);
    compare_causal({type, 64, 5, 200, 30.0F, 100.0F}, 1, 0);
    compare_causal({type, 64, 5, 200, 0.0F, 1000.0F}, 1, 0);  // one key takes all
    compare_causal({type, 64, 5, 200, 0.0F, 0.0F}, 1, 0);     // all the same
  }
}

}  // namespace

}  // namespace fathom::kernels

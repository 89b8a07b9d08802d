// Every row-wise kernel of every instruction set of this CPU gives the bits of the scalar one.
// Read next: kernels/scalar/rows.cc, lib/kernels/lanes/rows.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "lib/kernels/isa_tables.h"

namespace fathom::kernels {

namespace {

using isa_test::first_difference;
using isa_test::IsaTable;
using isa_test::same;
using isa_test::Values;

constexpr int64_t kSizes[] = {1, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 80, 100, 576, 1000};

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class RowsIsaTest : public testing::Test {
 protected:
  std::vector<float> plain(int64_t n) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float& value : x) {
      value = values_.plain();
    }
    return x;
  }

  // Magnitudes of all kinds, denormals included; some Inf and NaN when asked for.
  std::vector<float> wide(int64_t n, int spread, bool infinite = false) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float& value : x) {
      const int kind = values_.integer(0, 39);
      value = kind == 0               ? values_.denormal()
              : kind == 1 && infinite ? kInf
              : kind == 2 && infinite ? -kInf
              : kind == 3 && infinite ? kNan
                                      : values_.wide(spread);
    }
    return x;
  }

  // fn(table) gives the floats to compare.
  template <class Fn>
  void expect_same(const char* what, int64_t n, Fn&& fn) {
    const std::vector<float> expected = fn(scalar_);
    for (const IsaTable& isa : tables_) {
      const std::vector<float> found = fn(isa.table);
      const int64_t at = first_difference(expected, found);
      ASSERT_EQ(at, -1) << isa.name << ' ' << what << " n " << n << ": element " << at << " is "
                        << found[static_cast<size_t>(at)] << ", scalar "
                        << expected[static_cast<size_t>(at)];
    }
  }

  std::vector<IsaTable> tables_ = isa_test::tables_of_this_cpu();
  KernelTable scalar_ = scalar_table();
  Values values_{7};
};

struct QuantizedRows {
  explicit QuantizedRows(size_t slots)
      : q(slots * 32, 99),
        d(slots, -1.0F),
        ds(slots, -1.0F),
        sums(slots, -1),
        half_sums(slots * 2) {}

  bool operator==(const QuantizedRows&) const = default;

  std::vector<int8_t> q;
  std::vector<float> d, ds;
  std::vector<int32_t> sums, half_sums;
  bool is_finite = false;
};

TEST_F(RowsIsaTest, QuantizeRow) {
  for (const int64_t n : kSizes) {
    for (int kind = 0; kind < 6; ++kind) {
      std::vector<float> x = wide(n, kind == 1 ? 120 : 3);
      if (kind == 2) {  // ties: amax 127 makes inv 1, so halves round to even
        for (float& value : x) {
          value = 0.5F + static_cast<float>(values_.integer(-127, 126));
        }
        x[0] = 127.0F;
      } else if (kind == 3) {
        x[static_cast<size_t>(n - 1)] = values_.integer(0, 1) == 0 ? kInf : kNan;
      } else if (kind == 4) {  // around the smallest amax, 2^-100
        for (float& value : x) {
          value = std::ldexp(value, -104);
        }
      } else if (kind == 5) {
        std::fill(x.begin(), x.end(), values_.integer(0, 1) == 0 ? -0.0F : 0x1p-100F);
      }
      constexpr int64_t kRows = 3;
      const auto run = [&](const KernelTable& table) {
        QuantizedRows rows(static_cast<size_t>(kRows * (n / 32 + 3)));
        rows.is_finite =
            table.quantize_row({x.data(), n, 1, kRows, 1, rows.q.data(), rows.d.data(),
                                rows.ds.data(), rows.sums.data(), rows.half_sums.data()});
        return rows;
      };
      const QuantizedRows expected = run(scalar_);
      for (const IsaTable& isa : tables_) {
        EXPECT_TRUE(run(isa.table) == expected) << isa.name << " n " << n << " kind " << kind;
      }
    }
  }
}

TEST_F(RowsIsaTest, FloatRows) {
  for (const int64_t n : kSizes) {
    const std::vector<float> x = wide(n, 60, true);
    const auto place = [&](const auto& function) {
      std::vector<float> out(static_cast<size_t>(3 * (n / 32 + 3) * 32), -7.0F);
      function(FloatRowArgs{x.data(), n, 2, 3, 1, out.data()});
      return out;
    };
    expect_same("round_row_bf16", n, [&](const KernelTable& t) { return place(t.round_row_bf16); });
    expect_same("copy_row_f32", n, [&](const KernelTable& t) { return place(t.copy_row_f32); });
  }
}

TEST_F(RowsIsaTest, RmsNorm) {
  for (const int64_t n : kSizes) {
    for (const int spread : {0, 10, 60}) {
      const std::vector<float> x = wide(n, spread);
      const std::vector<float> w = plain(n);
      expect_same("rms_norm", n, [&](const KernelTable& t) {
        std::vector<float> y = x;  // in place
        t.rms_norm(y.data(), w.data(), n, 1e-5F, y.data());
        return y;
      });
    }
  }
}

// Weights and bias may each be absent; rows far from 0 and rows of one value are among them.
TEST_F(RowsIsaTest, LayerNorm) {
  for (const int64_t n : kSizes) {
    for (const int kind : {0, 1, 2, 3}) {
      std::vector<float> x = wide(n, kind == 1 ? 10 : kind == 2 ? 60 : 0);
      for (float& value : x) {
        value = kind == 3 ? 1000.0F : kind == 0 ? value + 7.0F : value;
      }
      const std::vector<float> w = plain(n);
      const std::vector<float> b = plain(n);
      for (const bool has_w : {false, true}) {
        for (const bool has_b : {false, true}) {
          expect_same("layer_norm", n, [&](const KernelTable& t) {
            std::vector<float> y = x;  // in place
            t.layer_norm(y.data(), has_w ? w.data() : nullptr, has_b ? b.data() : nullptr, n, 1e-5F,
                         y.data());
            return y;
          });
        }
      }
    }
  }
}

TEST_F(RowsIsaTest, GatedEveryActivation) {
  for (const int64_t n : kSizes) {
    for (const int spread : {1, 4, 8, 100}) {
      const std::vector<float> gate = wide(n, spread, spread == 100);
      const std::vector<float> up = plain(n);
      for (int i = 0; i < kNumActivations; ++i) {
        expect_same("gated", n, [&](const KernelTable& t) {
          std::vector<float> y(static_cast<size_t>(n));
          t.gated[i](gate.data(), up.data(), n, y.data());
          return y;
        });
        expect_same("activate", n, [&](const KernelTable& t) {
          std::vector<float> y = gate;  // in place
          t.activate[i](y.data(), n, y.data());
          return y;
        });
      }
    }
  }
}

// The functions' borders: around every constant that selects a branch.
TEST_F(RowsIsaTest, GatedAtTheBordersOfItsFunctions) {
  std::vector<float> gate;
  for (const float border : {0.0F, 0.625F, 0.875F, 4.0F, 5.656854F, 1.2374369F, 51.11633F,
                             52.12857F, 87.0F, 88.72283F, 103.0F}) {
    float low = border;
    float high = border;
    for (int i = 0; i < 8; ++i) {
      gate.insert(gate.end(), {low, -low, high, -high});
      low = std::nextafter(low, -kInf);
      high = std::nextafter(high, kInf);
    }
  }
  const auto n = static_cast<int64_t>(gate.size());
  const std::vector<float> up(gate.size(), 1.0F);
  for (int i = 0; i < kNumActivations; ++i) {
    expect_same("gated", n, [&](const KernelTable& t) {
      std::vector<float> y(gate.size());
      t.gated[i](gate.data(), up.data(), n, y.data());
      return y;
    });
  }
}

TEST_F(RowsIsaTest, AddScaleSoftCap) {
  for (const int64_t n : kSizes) {
    const std::vector<float> a = wide(n, 100, true);
    const std::vector<float> b = wide(n, 100);
    expect_same("add", n, [&](const KernelTable& t) {
      std::vector<float> y = b;
      t.add(a.data(), y.data(), n, y.data());
      return y;
    });
    expect_same("scale", n, [&](const KernelTable& t) {
      std::vector<float> y(a.size());
      t.scale(a.data(), 0.3F, n, y.data());
      return y;
    });
    for (const int spread : {2, 8, 100}) {
      const std::vector<float> x = wide(n, spread, spread == 100);
      expect_same("soft_cap", n, [&](const KernelTable& t) {
        std::vector<float> y = x;
        t.soft_cap(y.data(), n, 30.0F);
        return y;
      });
    }
  }
}

TEST_F(RowsIsaTest, ClampsAndScaledSums) {
  for (const int64_t n : kSizes) {
    for (const int spread : {2, 5, 100}) {
      const std::vector<float> a = wide(n, spread, spread == 100);
      const std::vector<float> b = wide(n, spread, spread == 100);
      for (const float limit : {7.0F, 1.0F, 0.0F}) {
        expect_same("clamped_swiglu", n, [&](const KernelTable& t) {
          std::vector<float> y(a.size());
          t.clamped_swiglu(a.data(), b.data(), n, limit, y.data());
          return y;
        });
        expect_same("clamp", n, [&](const KernelTable& t) {
          std::vector<float> y = a;
          t.clamp(y.data(), n, limit);
          return y;
        });
      }
      for (const float factor : {0.3F, 0.0F, -1.7F}) {
        expect_same("add_scaled", n, [&](const KernelTable& t) {
          std::vector<float> x = a;
          t.add_scaled(b.data(), factor, n, x.data());
          return x;
        });
      }
    }
  }
}

TEST_F(RowsIsaTest, RopeBothStyles) {
  for (const int64_t n_pairs : {1, 4, 7, 8, 12, 16, 20, 32, 40, 64, 128}) {
    const std::vector<float> x = plain(2 * n_pairs + 3);
    const std::vector<float> cos = plain(n_pairs);
    const std::vector<float> sin = plain(n_pairs);
    for (const int style : {0, 1}) {
      expect_same("rope", n_pairs, [&](const KernelTable& t) {
        std::vector<float> y = x;
        t.rope[style](y.data(), cos.data(), sin.data(), n_pairs);
        return y;
      });
    }
  }
}

TEST_F(RowsIsaTest, MergeAndFinish) {
  for (const int head_dim : {1, 24, 64, 80, 128, 255}) {
    for (const float gap : {0.0F, 1.5F, -3.0F, 90.0F, -200.0F}) {
      const std::vector<float> o2 = plain(head_dim);
      std::vector<float> state = plain(head_dim + 2);
      state[0] = 2.0F;
      expect_same("merge_span", head_dim, [&](const KernelTable& t) {
        std::vector<float> s = state;
        const float m2 = 2.0F + gap;
        const float l2 = 3.25F;
        t.merge_span(s.data(), s.data() + 1, s.data() + 2, &m2, &l2, o2.data(), head_dim);
        t.finish_attend(s.data() + 2, s[1], head_dim);
        return s;
      });
    }
  }
}

}  // namespace

}  // namespace fathom::kernels

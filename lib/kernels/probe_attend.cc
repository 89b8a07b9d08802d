// Probes of attention: pages with random keys and values, rows that see all, some, one or none.
// Called by kernels/probe.cc. Read next: kernels/scalar/attend.cc.
#include <cstring>

#include "base/half.h"
#include "kernels/dispatch.h"
#include "kernels/probe_data.h"

namespace fathom::kernels {

namespace {

struct Case {
  int head_dim;
  int n_rows;
  int n_pages;
  float soft_cap;
  int value_dim;
  bool has_slopes = false;
};

constexpr int64_t kFirstPosition = 512;

int64_t page_bytes(int page_type, int dim) {
  return page_half_bytes(static_cast<PageType>(page_type), dim);
}

// The keys that row r sees: all, a window, none, one, up to itself ...
void set_visible(const Case& c, int row, int64_t* first, int64_t* last) {
  const int64_t end = kFirstPosition + static_cast<int64_t>(c.n_pages) * kPageTokens;
  *first = 0;
  *last = end + 100;
  switch (row % 6) {
    case 1:
      *first = kFirstPosition + 29;
      *last = end - 30;
      break;
    case 2:
      *first = end;  // nothing: later than the span
      break;
    case 3:
      *first = end - 5;
      *last = end - 5;
      break;
    case 4:
      *last = kFirstPosition + row;
      break;
    case 5:
      *last = kFirstPosition - 1;  // nothing: earlier than the span
      break;
    default:
      break;
  }
}

void run_case(int page_type, const Case& c, const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(static_cast<uint64_t>(c.head_dim) * 1000 + static_cast<uint64_t>(c.n_rows));
  const KernelTable reference = scalar_table();
  const int64_t k_bytes = page_bytes(page_type, c.head_dim);
  const int64_t bytes = k_bytes + page_bytes(page_type, c.value_dim);
  AlignedBytes pages(bytes * c.n_pages);
  std::vector<const std::byte*> k;
  std::vector<const std::byte*> v;
  for (int page = 0; page < c.n_pages; ++page) {
    std::byte* k_page = pages.data() + page * bytes;
    // The last page is half full: its tail stays zero.
    const int n_slots = page + 1 == c.n_pages ? 40 : kPageTokens;
    for (int slot = 0; slot < n_slots; ++slot) {
      reference.write_k[page_type](random.values(c.head_dim, 1.0F).data(), c.head_dim, slot,
                                   k_page);
      reference.write_v[page_type](random.values(c.value_dim, 1.0F).data(), c.value_dim, slot,
                                   k_page + k_bytes);
    }
    k.push_back(k_page);
    v.push_back(k_page + k_bytes);
  }
  const auto n_rows = static_cast<size_t>(c.n_rows);
  const int64_t q_stride = c.head_dim + 3;
  std::vector<float> q = random.values(q_stride * c.n_rows, 1.0F);
  if (page_type == static_cast<int>(PageType::kBF16)) {
    for (float& x : q) {
      x = round_to_bf16_operand(x);
    }
  }
  std::vector<int64_t> first(n_rows);
  std::vector<int64_t> last(n_rows);
  for (int row = 0; row < c.n_rows; ++row) {
    set_visible(c, row, &first[static_cast<size_t>(row)], &last[static_cast<size_t>(row)]);
  }
  std::vector<float> m(n_rows, -1.0F);
  std::vector<float> l(n_rows, -1.0F);
  std::vector<float> o(n_rows * static_cast<size_t>(c.value_dim), -1.0F);
  const std::vector<float> slopes = random.values(c.n_rows, 0.5F);
  AlignedBytes scratch(kAttendScratchBytes);
  AttendArgs args;
  args.q = q.data();
  args.q_stride = q_stride;
  args.n_rows = c.n_rows;
  args.head_dim = c.head_dim;
  args.value_dim = c.value_dim;
  args.k = k.data();
  args.v = v.data();
  args.n_pages = c.n_pages;
  args.first_position = kFirstPosition;
  args.first_visible = first.data();
  args.last_visible = last.data();
  args.scale = 0x1.6a09e6p-3F;
  args.soft_cap = c.soft_cap;
  args.slopes = c.has_slopes ? slopes.data() : nullptr;
  args.m = m.data();
  args.l = l.data();
  args.o = o.data();
  args.scratch = scratch.data();
  table.attend_span[page_type](args);
  out->add(m);
  out->add(l);
  out->add(o);
}

void probe_write(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(51);
  for (const int head_dim : {9, 24, 40, 128}) {
    const int64_t bytes = page_bytes(entry.index, head_dim);
    AlignedBytes page(bytes);
    for (const int slot : {0, 5, 30, 37, 63}) {
      std::vector<float> x = random.values(head_dim, 2.0F);
      x[0] = 0x1.fffffep-51F;  // below 2^-50: +0 as bf16
      x[1] = -0x1p-50F;
      x[2] = 0x1.01p0F;  // a tie
      (entry.family == Family::kWriteK ? table.write_k : table.write_v)[entry.index](
          x.data(), head_dim, slot, page.data());
    }
    for (int64_t at = 0; at + 4 <= bytes; at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, page.data() + at, sizeof word);
      out->add_word(word == 0x80000000U ? 0U : word);
    }
  }
}

void probe_merge(const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(52);

  struct Maxima {
    float m, m2;
  };

  for (const Maxima maxima :
       {Maxima{1.0F, 2.5F}, Maxima{2.5F, 1.0F}, Maxima{kAttendMaxStart, -3.0F},
        Maxima{4.0F, kAttendMaxStart}, Maxima{0.0F, 0.0F}, Maxima{-90.0F, 30.0F}}) {
    for (const int head_dim : {9, 40}) {
      float m = maxima.m;
      float l = 3.25F;
      const float l2 = 1.375F;
      std::vector<float> o = random.values(head_dim, 2.0F);
      const std::vector<float> o2 = random.values(head_dim, 2.0F);
      table.merge_span(&m, &l, o.data(), &maxima.m2, &l2, o2.data(), head_dim);
      out->add(m);
      out->add(l);
      out->add(o);
    }
  }
}

void probe_finish(const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(53);
  for (const int head_dim : {9, 40, 128}) {
    std::vector<float> o = random.values(head_dim, 2.0F);
    table.finish_attend(o.data(), 3.3F, head_dim);
    out->add(o);
  }
}

}  // namespace

void probe_attend(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  switch (entry.family) {
    case Family::kAttendSpan:
      for (const Case& c :
           {Case{9, 3, 1, 0.0F, 9}, Case{24, 7, 2, 0.0F, 24}, Case{40, 1, 2, 0.0F, 40},
            Case{64, 13, 1, 30.0F, 64}, Case{128, 2, 2, 0.0F, 128}}) {
        run_case(entry.index, c, table, out);
      }
      break;
    case Family::kMergeSpan:
      probe_merge(table, out);
      break;
    case Family::kFinishAttend:
      probe_finish(table, out);
      break;
    default:  // kWriteK, kWriteV
      probe_write(entry, table, out);
      break;
  }
}

// Values narrower than keys, odd and even; slopes with and without a cap; the widest head.
void probe_attend_options(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  if (entry.family == Family::kAttendSpan) {
    for (const Case& c :
         {Case{40, 7, 2, 0.0F, 23}, Case{24, 6, 2, 0.0F, 8, true}, Case{64, 7, 1, 20.0F, 64, true},
          Case{576, 2, 1, 0.0F, 512}, Case{9, 13, 2, 0.0F, 7, true}}) {
      run_case(entry.index, c, table, out);
    }
  }
}

}  // namespace fathom::kernels

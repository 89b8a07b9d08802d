// Attention over paged K and V: online softmax by spans of 512 positions.
// The query rows of one KV head are (token, head of the group) pairs, token outermost: "flat rows".
// A unit is up to 64 flat rows of one sequence and KV head over all its spans, merged in order; or,
// where that gives too few units (decode of long contexts), a single span, whose result waits in a
// buffer for a second pass that merges in the same order: the same bits.
// Called by model through Backend. Read next: kernels/scalar/attend.cc, docs/numbers.md,
// "Attention".
#include <algorithm>
#include <array>

#include "base/check.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

namespace {

constexpr int kSpanPages = kSpanTokens / kPageTokens;

// One sequence of the step, cut into units.
struct SequencePlan {
  const SequenceRows* rows = nullptr;
  int64_t n_flat = 0;      // query rows per KV head: tokens x heads of the group
  int64_t n_blocks = 0;    // runs of at most `block_rows` flat rows
  int64_t first_span = 0;  // spans that any row sees
  int64_t n_spans = 0;
  bool split = false;  // a unit is one span, its result goes to a buffer
  int64_t first_unit = 0;
  int64_t n_units = 0;
  int64_t first_slot = 0;  // of the buffers: [n_spans][n_kv_heads][n_flat]
  int64_t n_slots = 0;
};

// Flat rows [first, first + n) of one KV head.
struct FlatRows {
  const SequenceRows* sequence = nullptr;
  int kv_head = 0;
  int64_t first = 0;
  int n = 0;
};

// A row's results: m, l [n] and o [n][value_dim].
struct SpanState {
  float* m = nullptr;
  float* l = nullptr;
  float* o = nullptr;
};

class FlashJob {
 public:
  FlashJob(const Exec& exec, const Attend& job, const SpanBuffers& buffers);
  void run() const;

 private:
  [[nodiscard]] SequencePlan plan_after(const SequencePlan* previous) const;
  void run_unit(int64_t unit, int worker) const;
  void attend_block(const FlatRows& flat, int worker) const;
  void attend_span(const FlatRows& flat, int64_t span, const SpanState& state, int worker) const;
  void gather_queries(const FlatRows& flat, int worker) const;
  void merge_rows(const SequencePlan& plan, int kv_head, int worker) const;
  void finish_row(const FlatRows& flat, int64_t index, const SpanState& state, int worker) const;

  [[nodiscard]] int64_t position_of(const FlatRows& flat, int64_t index) const {
    return flat.sequence->first_position + (flat.first + index) / group_;
  }

  [[nodiscard]] int64_t first_visible(int64_t position) const {
    return job_->window > 0 ? std::max<int64_t>(0, position - job_->window + 1) : 0;
  }

  [[nodiscard]] int64_t head_of(const FlatRows& flat, int64_t index) const {
    return flat.kv_head * group_ + (flat.first + index) % group_;
  }

  [[nodiscard]] int64_t row_of(const FlatRows& flat, int64_t index) const {
    return flat.sequence->first_row + (flat.first + index) / group_;
  }

  [[nodiscard]] SpanState slots(int64_t first_slot) const {
    return {.m = buffers_.m + first_slot,
            .l = buffers_.l + first_slot,
            .o = buffers_.o + first_slot * value_dim_};
  }

  // Blocks of kAttendBlockBytes behind the kernel's scratch: 0 queries, 1 a span's output, 2 the
  // running output; behind them the state of each row.
  [[nodiscard]] float* scratch_block(int worker, size_t index) const {
    return reinterpret_cast<float*>(exec_->scratch(worker) + kKernelScratchBytes +
                                    index * kAttendBlockBytes);
  }

  const Exec* exec_;
  const Attend* job_;
  SpanBuffers buffers_;
  int n_kv_heads_;
  int head_dim_;
  int value_dim_;
  int64_t group_;       // query heads per KV head
  int64_t block_rows_;  // flat rows of a unit
  int64_t q_stride_;    // padded to whole blocks of 32, as round_row_bf16 writes them
  bool want_split_ = false;
};

constexpr int64_t kSplitRows = 4;       // sequences with more rows in the step are never split
constexpr int64_t kUnitsPerThread = 8;  // below that many units, spans become units too

FlashJob::FlashJob(const Exec& exec, const Attend& job, const SpanBuffers& buffers)
    : exec_(&exec),
      job_(&job),
      buffers_(buffers),
      n_kv_heads_(job.pages.n_kv_heads),
      head_dim_(job.pages.head_dim),
      value_dim_(job.pages.value_dim),
      group_(job.n_heads / job.pages.n_kv_heads),
      q_stride_((int64_t{job.pages.head_dim} + 31) / 32 * 32) {
  block_rows_ = group_ <= kMaxAttendRows ? kMaxAttendRows / group_ * group_ : kMaxAttendRows;
  int64_t n_units = 0;
  for (const SequenceRows& sequence : job.sequences) {
    n_units += n_kv_heads_ * ((sequence.n_rows * group_ + block_rows_ - 1) / block_rows_);
  }
  want_split_ = n_units < kUnitsPerThread * exec.threads().n_threads();
}

// The plan of the sequence behind `previous`, or of the first one.
SequencePlan FlashJob::plan_after(const SequencePlan* previous) const {
  SequencePlan plan;
  plan.rows = job_->sequences.data();
  if (previous != nullptr) {
    plan.rows = previous->rows + 1;
    plan.first_unit = previous->first_unit + previous->n_units;
    plan.first_slot = previous->first_slot + previous->n_slots;
  }
  const SequenceRows& rows = *plan.rows;
  plan.n_flat = rows.n_rows * group_;
  plan.n_blocks = (plan.n_flat + block_rows_ - 1) / block_rows_;
  plan.first_span = first_visible(rows.first_position) / kSpanTokens;
  const int64_t last_position = rows.first_position + rows.n_rows - 1;
  plan.n_spans = last_position / kSpanTokens - plan.first_span + 1;
  const int64_t n_slots = plan.n_spans * n_kv_heads_ * plan.n_flat;
  plan.split = want_split_ && rows.n_rows <= kSplitRows && plan.n_spans > 1 &&
               plan.first_slot + n_slots <= buffers_.n_slots;
  plan.n_slots = plan.split ? n_slots : 0;
  plan.n_units = n_kv_heads_ * plan.n_blocks * (plan.split ? plan.n_spans : 1);
  return plan;
}

void FlashJob::run() const {
  SequencePlan plan;
  int64_t n_split = 0;
  for (size_t i = 0; i < job_->sequences.size(); ++i) {
    plan = plan_after(i == 0 ? nullptr : &plan);
    n_split += plan.split ? 1 : 0;
  }
  exec_->threads().run(plan.first_unit + plan.n_units,
                       [&](int64_t unit, int worker) { run_unit(unit, worker); });
  if (n_split == 0) {
    return;
  }
  const auto merge_unit = [&](int64_t unit, int worker) {
    SequencePlan split = plan_after(nullptr);
    for (int64_t left = unit / n_kv_heads_;; split = plan_after(&split)) {
      if (split.split && left-- == 0) {
        break;
      }
    }
    merge_rows(split, static_cast<int>(unit % n_kv_heads_), worker);
  };
  run_units(*exec_, n_split * n_kv_heads_, plan.first_slot + plan.n_slots, merge_unit);
}

void FlashJob::run_unit(int64_t unit, int worker) const {
  SequencePlan plan = plan_after(nullptr);
  while (unit >= plan.first_unit + plan.n_units) {
    plan = plan_after(&plan);
  }
  int64_t index = unit - plan.first_unit;
  FlatRows flat;
  flat.sequence = plan.rows;
  flat.kv_head = static_cast<int>(index % n_kv_heads_);
  index /= n_kv_heads_;
  const int64_t block = plan.n_blocks - 1 - index % plan.n_blocks;  // the longest first
  flat.first = block * block_rows_;
  flat.n = static_cast<int>(std::min(block_rows_, plan.n_flat - flat.first));
  gather_queries(flat, worker);
  if (!plan.split) {
    attend_block(flat, worker);
    return;
  }
  const int64_t span = index / plan.n_blocks;
  const int64_t slot =
      plan.first_slot + (span * n_kv_heads_ + flat.kv_head) * plan.n_flat + flat.first;
  attend_span(flat, plan.first_span + span, slots(slot), worker);
}

// Queries as the kernel multiplies them: rounded to bf16 for bf16 pages.
void FlashJob::gather_queries(const FlatRows& flat, int worker) const {
  const auto& table = exec_->kernels();
  float* queries = scratch_block(worker, 0);
  for (int i = 0; i < flat.n; ++i) {
    kernels::FloatRowArgs args;
    args.x = job_->q.row(row_of(flat, i)) + head_of(flat, i) * head_dim_;
    args.n = head_dim_;
    args.n_rows = 1;
    args.out = queries + i * q_stride_;
    (job_->pages.type == PageType::kBF16 ? table.round_row_bf16 : table.copy_row_f32)(args);
  }
}

// All spans that the rows see, in order. A row's first visible span is its start, the others are
// absorbed; a span that a row does not see leaves the row as it is.
void FlashJob::attend_block(const FlatRows& flat, int worker) const {
  const auto& table = exec_->kernels();
  auto* state = reinterpret_cast<float*>(scratch_block(worker, 3));
  const SpanState total{.m = state, .l = state + kMaxAttendRows, .o = scratch_block(worker, 2)};
  const SpanState part{.m = state + ptrdiff_t{2} * kMaxAttendRows,
                       .l = state + ptrdiff_t{3} * kMaxAttendRows,
                       .o = scratch_block(worker, 1)};
  const int64_t start = first_visible(position_of(flat, 0)) / kSpanTokens;
  const int64_t common = first_visible(position_of(flat, flat.n - 1)) / kSpanTokens;
  const int64_t end = position_of(flat, flat.n - 1) / kSpanTokens;
  for (int64_t span = start; span <= end; ++span) {
    if (span == start && start == common) {  // every row begins here
      attend_span(flat, span, total, worker);
      continue;
    }
    attend_span(flat, span, part, worker);
    for (int i = 0; i < flat.n; ++i) {
      const int64_t position = position_of(flat, i);
      const int64_t first = first_visible(position) / kSpanTokens;
      float* o = total.o + static_cast<int64_t>(i) * value_dim_;
      const float* o2 = part.o + static_cast<int64_t>(i) * value_dim_;
      if (span == first) {
        total.m[i] = part.m[i];
        total.l[i] = part.l[i];
        std::copy_n(o2, value_dim_, o);
      } else if (span > first && span <= position / kSpanTokens) {
        table.merge_span(total.m + i, total.l + i, o, part.m + i, part.l + i, o2, value_dim_);
      }
    }
  }
  for (int i = 0; i < flat.n; ++i) {
    float* o = total.o + static_cast<int64_t>(i) * value_dim_;
    finish_row(flat, i, {.m = total.m + i, .l = total.l + i, .o = o}, worker);
  }
}

void FlashJob::attend_span(const FlatRows& flat, int64_t span, const SpanState& state,
                           int worker) const {
  std::array<const std::byte*, kSpanPages> k{};
  std::array<const std::byte*, kSpanPages> v{};
  std::array<int64_t, kMaxAttendRows> first{};
  std::array<int64_t, kMaxAttendRows> last{};
  std::array<float, kMaxAttendRows> slopes{};
  for (int i = 0; i < flat.n; ++i) {
    const int64_t position = position_of(flat, i);
    first[static_cast<size_t>(i)] = first_visible(position);
    last[static_cast<size_t>(i)] = position;
    if (job_->slopes != nullptr) {
      slopes[static_cast<size_t>(i)] = job_->slopes[head_of(flat, i)];
    }
  }
  // Pages that no row sees are not touched.
  const int64_t end_page = position_of(flat, flat.n - 1) / kPageTokens + 1;
  const int64_t first_page = first_visible(position_of(flat, 0)) / kPageTokens;
  const int64_t n_pages = std::min<int64_t>(kSpanPages, end_page - span * kSpanPages);
  for (int64_t i = 0; i < n_pages; ++i) {
    const int64_t index = span * kSpanPages + i;
    if (index < first_page) {
      continue;
    }
    const int32_t page = flat.sequence->pages[static_cast<size_t>(index)];
    FATHOM_CHECK(page >= 0);
    k[static_cast<size_t>(i)] = job_->pages.k_of(page, flat.kv_head);
    v[static_cast<size_t>(i)] = job_->pages.v_of(page, flat.kv_head);
  }
  kernels::AttendArgs args;
  args.q = scratch_block(worker, 0);
  args.q_stride = q_stride_;
  args.n_rows = flat.n;
  args.head_dim = head_dim_;
  args.value_dim = value_dim_;
  args.k = k.data();
  args.v = v.data();
  args.n_pages = static_cast<int>(n_pages);
  args.first_position = span * kSpanTokens;
  args.first_visible = first.data();
  args.last_visible = last.data();
  args.scale = job_->scale;
  args.soft_cap = job_->soft_cap;
  args.slopes = job_->slopes == nullptr ? nullptr : slopes.data();
  args.m = state.m;
  args.l = state.l;
  args.o = state.o;
  args.scratch = exec_->scratch(worker);
  exec_->kernels().attend_span[static_cast<size_t>(job_->pages.type)](args);
}

// The second pass of a split sequence: its spans in order, as attend_block merges them.
void FlashJob::merge_rows(const SequencePlan& plan, int kv_head, int worker) const {
  const auto& table = exec_->kernels();
  FlatRows flat{.sequence = plan.rows, .kv_head = kv_head, .n = static_cast<int>(plan.n_flat)};
  for (int64_t i = 0; i < plan.n_flat; ++i) {
    const int64_t position = position_of(flat, i);
    const int64_t first = first_visible(position) / kSpanTokens;
    const auto slot_of = [&](int64_t span) {
      return plan.first_slot + ((span - plan.first_span) * n_kv_heads_ + kv_head) * plan.n_flat + i;
    };
    const SpanState total = slots(slot_of(first));
    for (int64_t span = first + 1; span <= position / kSpanTokens; ++span) {
      const SpanState part = slots(slot_of(span));
      table.merge_span(total.m, total.l, total.o, part.m, part.l, part.o, value_dim_);
    }
    finish_row(flat, i, total, worker);
  }
}

// The sink joins as one more span, a single key without a value; then o / l goes to `out`.
void FlashJob::finish_row(const FlatRows& flat, int64_t index, const SpanState& state,
                          int worker) const {
  const auto& table = exec_->kernels();
  const int64_t head = head_of(flat, index);
  if (job_->sinks != nullptr) {
    float* nothing = scratch_block(worker, 1);
    std::fill_n(nothing, value_dim_, 0.0F);
    const float one = 1.0F;
    table.merge_span(state.m, state.l, state.o, job_->sinks + head, &one, nothing, value_dim_);
  }
  table.finish_attend(state.o, *state.l, value_dim_);
  std::copy_n(state.o, value_dim_, job_->out.row(row_of(flat, index)) + head * value_dim_);
}

}  // namespace

void attend_flash(const Exec& exec, const Attend& job, const SpanBuffers& buffers) {
  if (job.q.n_rows > 0) {
    FlashJob(exec, job, buffers).run();
  }
}

}  // namespace fathom::ops

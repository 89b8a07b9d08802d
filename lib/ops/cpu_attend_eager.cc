// The reference attention: for each row and head a full row of scores, softmax, weighted sum; plain
// loops over the same pages, its own exp. Slow, and its score row comes from the heap.
// Called by ops/cpu_backend.cc for `--attention eager`. Read next: ops/cpu_attend.cc, its fast
// twin.
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/det_math.h"
#include "base/half.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

namespace {

// e^x for x <= 0: the differences to a row's maximum.
float exp_of(float x) {
  return x < -87.0F ? 0.0F : static_cast<float>(det_exp(x));
}

float soft_capped(float x, float cap) {
  const double t = std::min(std::fabs(static_cast<double>(x) / cap), 20.0);
  const double tanh_t = 1.0 - 2.0 / (det_exp(2.0 * t) + 1.0);
  return static_cast<float>(std::copysign(tanh_t, x) * cap);
}

// One KV head of one page, element by element (base/paged_view.h).
struct PageReader {
  const std::byte* k;
  const std::byte* v;
  PageType type;
  int head_dim;
  int value_dim;

  [[nodiscard]] float key(int slot, int d) const {
    if (type == PageType::kF32) {
      return reinterpret_cast<const float*>(k)[(slot / 16 * head_dim + d) * 16 + slot % 16];
    }
    if (type == PageType::kInt8) {
      const int quads = padded_dims(type, head_dim) / 4;
      const int at = (slot / 16 * quads + d / 4) * 64 + slot % 16 * 4 + d % 4;
      return code(k, at) * scale(k, head_dim, slot);
    }
    const int n_pairs = (head_dim + 1) / 2;
    const int at = (slot / 16 * n_pairs + d / 2) * 32 + slot % 16 * 2 + d % 2;
    return bf16_to_f32(reinterpret_cast<const uint16_t*>(k)[at]);
  }

  [[nodiscard]] float value(int slot, int d) const {
    if (type == PageType::kF32) {
      return reinterpret_cast<const float*>(v)[slot * value_dim + d];
    }
    if (type == PageType::kInt8) {
      const int at = (slot / 4 * padded_dims(type, value_dim) + d) * 4 + slot % 4;
      return code(v, at) * scale(v, value_dim, slot);
    }
    const int at = (slot / 2 * ((value_dim + 1) / 2 * 2) + d) * 2 + slot % 2;
    return bf16_to_f32(reinterpret_cast<const uint16_t*>(v)[at]);
  }

  static float code(const std::byte* codes, int at) {
    return static_cast<float>(static_cast<int8_t>(codes[at]));
  }

  // The scales follow the codes.
  static float scale(const std::byte* codes, int dim, int slot) {
    const int64_t at = int64_t{kPageTokens} * padded_dims(PageType::kInt8, dim);
    return reinterpret_cast<const float*>(codes + at)[slot];
  }
};

PageReader page_at(const Attend& job, const SequenceRows& sequence, int kv_head, int64_t position) {
  const int32_t page = sequence.pages[static_cast<size_t>(position / kPageTokens)];
  return {.k = job.pages.k_of(page, kv_head),
          .v = job.pages.v_of(page, kv_head),
          .type = job.pages.type,
          .head_dim = job.pages.head_dim,
          .value_dim = job.pages.value_dim};
}

// The query of one row and head, and the positions it sees.
struct QueryRow {
  const SequenceRows* sequence = nullptr;
  const float* q = nullptr;
  int head = 0;
  int kv_head = 0;
  int64_t first = 0;
  int64_t last = 0;
};

// scores[j] = capped(scale * q . k_j), with ALiBi less slope * distance, for j = first .. last.
void fill_scores(const Attend& job, const QueryRow& row, std::span<float> scores) {
  for (size_t j = 0; j < scores.size(); ++j) {
    const int64_t position = row.first + static_cast<int64_t>(j);
    const PageReader page = page_at(job, *row.sequence, row.kv_head, position);
    const int slot = static_cast<int>(position % kPageTokens);
    float dot = 0.0F;
    for (int d = 0; d < job.pages.head_dim; ++d) {
      const float q = row.q[d];
      const float value = job.pages.type == PageType::kBF16 ? round_to_bf16_operand(q) : q;
      dot = std::fma(value, page.key(slot, d), dot);
    }
    dot *= job.scale;
    scores[j] = job.soft_cap > 0.0F ? soft_capped(dot, job.soft_cap) : dot;
    if (job.slopes != nullptr) {
      scores[j] -= job.slopes[row.head] * static_cast<float>(row.last - position);
    }
  }
}

// scores becomes e^(score - max); gives their sum, the sink's share included.
float exponentiate(std::span<float> scores, const float* sink) {
  float largest = sink != nullptr ? *sink : scores[0];
  for (const float score : scores) {
    largest = score > largest ? score : largest;
  }
  float sum = sink != nullptr ? exp_of(*sink - largest) : 0.0F;
  for (float& score : scores) {
    score = exp_of(score - largest);
    sum += score;
  }
  return sum;
}

void attend_row(const Attend& job, const SequenceRows& sequence, int64_t index, int head) {
  QueryRow row;
  row.sequence = &sequence;
  row.q = job.q.row(index) + static_cast<int64_t>(head) * job.pages.head_dim;
  row.head = head;
  row.kv_head = head / (job.n_heads / job.pages.n_kv_heads);
  row.last = sequence.first_position + index - sequence.first_row;
  row.first = job.window > 0 ? std::max<int64_t>(0, row.last - job.window + 1) : 0;
  std::vector<float> scores(static_cast<size_t>(row.last - row.first + 1));
  fill_scores(job, row, scores);
  const float sum = exponentiate(scores, job.sinks != nullptr ? job.sinks + head : nullptr);
  const int value_dim = job.pages.value_dim;
  float* out = job.out.row(index) + static_cast<int64_t>(head) * value_dim;
  std::fill_n(out, value_dim, 0.0F);
  for (size_t j = 0; j < scores.size(); ++j) {
    const int64_t position = row.first + static_cast<int64_t>(j);
    const PageReader page = page_at(job, sequence, row.kv_head, position);
    const int slot = static_cast<int>(position % kPageTokens);
    const float weight = scores[j] / sum;
    for (int d = 0; d < value_dim; ++d) {
      out[d] = std::fma(weight, page.value(slot, d), out[d]);
    }
  }
}

}  // namespace

void attend_eager(const Exec& exec, const Attend& job) {
  const auto attend_unit = [&](int64_t unit, int) {
    const int64_t row = unit / job.n_heads;
    const auto* sequence = job.sequences.data();
    while (row >= sequence->first_row + sequence->n_rows) {
      ++sequence;
    }
    attend_row(job, *sequence, row, static_cast<int>(unit % job.n_heads));
  };
  exec.threads().run(job.q.n_rows * job.n_heads, attend_unit);
}

}  // namespace fathom::ops

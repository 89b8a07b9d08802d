// The sums of the memory plan: every number comes from the function that the allocating room uses
// itself. Read next: xray/process_memory.h (limits), api/session.cc (checks the plan).
#include "xray/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kv/layout.h"
#include "kv/page_pool.h"
#include "ops/exec.h"

namespace fathom::xray {

namespace {

// Rows of one step that may be split over spans for each sequence.
constexpr int64_t kSplitRows = kernels::kFewRows;

double mib(int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

PlanLine weights_line(const PlanInput& input) {
  return {"weights",
          fmt::format("{} weights of {} layers, packed ({:.2f} bits each)",
                      input.load->matrix_values, input.load->config.n_layers,
                      8.0 * static_cast<double>(input.load->weight_bytes) /
                          std::max<double>(1.0, static_cast<double>(input.load->matrix_values))),
          input.load->weight_bytes};
}

PlanLine kv_line(const PlanInput& input, const kv::PageShape& shape) {
  const int64_t pages = n_pages_of(input);
  // A token's int8 codes have a scale of 4 bytes beside them.
  const std::string values = shape.type == PageType::kInt8
                                 ? fmt::format("({} + 4)", padded_dims(shape.type, shape.head_dim))
                                 : fmt::format("{}", shape.head_dim);
  const int value_bytes = shape.type == PageType::kBF16 ? 2 : shape.type == PageType::kF32 ? 4 : 1;
  return {"kv",
          fmt::format("{} layers x {} KV heads x {} x 2 (K, V) x {} B x {} tokens ({} pages of {})",
                      shape.n_layers, shape.n_kv_heads, values, value_bytes, pages * kPageTokens,
                      pages, kPageTokens),
          kv::pool_bytes(shape, pages)};
}

PlanLine scratch_line(const PlanInput& input) {
  const model::ModelConfig& config = input.load->config;
  const auto workers = static_cast<int64_t>(ops::Exec::scratch_bytes(input.n_threads));
  const auto split = static_cast<int64_t>(
      ops::CpuBackend::split_bytes(split_limits(config, input.context, input.max_sequences)));
  const auto step =
      static_cast<int64_t>(model::Model::scratch_bytes(config, input.load->types, input.limits));
  return {"scratch",
          fmt::format("{} threads {:.1f} MiB + attention spans {:.1f} MiB + a step of {} tokens "
                      "{:.1f} MiB + logits {:.1f} MiB",
                      input.n_threads, mib(workers), mib(split), input.limits.max_tokens, mib(step),
                      mib(input.engine_bytes)),
          workers + split + step + input.engine_bytes};
}

}  // namespace

int64_t MemoryPlan::total_bytes() const {
  int64_t total = 0;
  for (const PlanLine& line : lines) {
    total += line.bytes;
  }
  return total;
}

int64_t MemoryPlan::bytes_of(const std::string& pool) const {
  const auto line = std::find_if(lines.begin(), lines.end(),
                                 [&](const PlanLine& candidate) { return candidate.pool == pool; });
  return line == lines.end() ? 0 : line->bytes;
}

int64_t n_pages_of(const PlanInput& input) {
  return input.n_pages > 0 ? input.n_pages : input.max_sequences * kv::pages_for(input.context);
}

kv::PageShape page_shape(const model::ModelConfig& config, PageType type) {
  const model::LayerOptions& layer = config.layers.front();  // all layers have one shape of heads
  return {.type = type,
          .n_layers = static_cast<int>(config.n_layers),
          .n_kv_heads = layer.page_heads(),
          .head_dim = layer.page_key_dim(),
          .value_dim = layer.page_value_dim()};
}

ops::SplitLimits split_limits(const model::ModelConfig& config, int64_t context,
                              int64_t max_sequences) {
  ops::SplitLimits limits{.max_decode_rows = max_sequences * kSplitRows, .max_context = context};
  for (const model::LayerOptions& layer : config.layers) {
    limits.n_heads = std::max(limits.n_heads, layer.n_heads);
    limits.head_dim = std::max(limits.head_dim, layer.page_key_dim());
  }
  return limits;
}

MemoryPlan make_plan(const PlanInput& input) {
  MemoryPlan plan;
  plan.context = input.context;
  plan.lines.push_back(weights_line(input));
  plan.lines.push_back(kv_line(input, page_shape(input.load->config, input.page_type)));
  plan.lines.push_back(scratch_line(input));
  plan.lines.push_back(
      {"vocabulary", "token texts, scores, merges and their indexes", input.vocabulary_bytes});
  plan.lines.push_back(
      {"program", "code, libraries, the file's metadata, stacks", input.program_bytes});
  return plan;
}

int64_t largest_context(PlanInput input, int64_t limit_bytes) {
  const auto fits = [&](int64_t n_pages) {
    input.context = n_pages * kPageTokens;
    return make_plan(input).total_bytes() <= limit_bytes;
  };
  const int64_t most = std::max(input.load->config.max_context, input.context);
  int64_t low = 0;  // fits, or nothing
  int64_t high = kv::pages_for(most) + 1;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return std::min(low * kPageTokens, most);
}

std::string describe_excess(const MemoryPlan& plan, int64_t limit_bytes,
                            std::string_view limit_name, int64_t largest) {
  std::string lines;
  for (const PlanLine& line : plan.lines) {
    lines += fmt::format("{}{} {:.1f}", lines.empty() ? "" : " + ", line.pool, mib(line.bytes));
  }
  const std::string advice =
      largest > 0 ? fmt::format("the largest context that fits is -c {}", largest)
                  : std::string("no context fits; free memory or take a smaller model");
  return fmt::format("context {} needs {:.1f} MiB ({} MiB), the {} is {:.1f} MiB; {}", plan.context,
                     mib(plan.total_bytes()), lines, limit_name, mib(limit_bytes), advice);
}

}  // namespace fathom::xray

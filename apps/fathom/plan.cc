// fathom plan: the memory of a run, line by line, before anything is allocated.
// Read next: xray/memory_plan.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "api/session.h"
#include "command.h"
#include "memory_flags.h"
#include "options.h"
#include "run_report.h"
#include "terminal.h"
#include "xray/page_budget.h"

namespace fathom::app {

namespace {

struct PlanFlags {
  ModelFlags model;
  MemoryFlags memory;
  int64_t max_sequences = 1;
  int64_t max_batched_tokens = 0;  // 0: as the command that is planned for
  bool as_json = false;
};

// Rows of one step: of fathom serve where one of its flags was given, else of fathom run.
int64_t batched_tokens(const PlanFlags& flags) {
  if (flags.max_batched_tokens > 0) {
    return flags.max_batched_tokens;
  }
  const bool is_for_serve =
      flags.max_sequences > 1 || flags.memory.kv_bytes || flags.memory.utilization;
  return is_for_serve ? kServeBatchedTokens : api::SessionOptions().max_batched_tokens;
}

int plan(const PlanFlags& flags) {
  if (flags.model.weights.check_tensors) {
    throw UsageError("--check-tensors has no effect: a plan reads no weights");
  }
  api::SessionOptions options = session_options(flags.model);
  options.max_sequences = flags.max_sequences;
  options.max_batched_tokens = batched_tokens(flags);
  set_memory_options(flags.memory, std::nullopt, options);
  const auto forecast = api::make_forecast(options);
  const std::string arithmetic = arithmetic_name(flags.model);
  AnswerWriter writer;
  if (flags.as_json) {
    writer.write(plan_json(forecast->plan, xray::whole_sequences(forecast->input), arithmetic) +
                 "\n");
    return kExitDone;
  }
  for (const xray::PlanLine& line : forecast->plan.lines) {
    writer.write(fmt::format("{:<11} {:>15} B  {}\n", line.pool, line.bytes, line.formula));
  }
  writer.write(fmt::format("{:<11} {:>15} B  context {}\n", "total", forecast->plan.total_bytes(),
                           forecast->plan.context));
  writer.write(fmt::format("{:<11} {:>15}{}\n", "arithmetic", arithmetic,
                           arithmetic == "fast" ? "    int8 per 256 for prompts" : ""));
  if (forecast->input.n_pages > 0) {
    writer.write(
        fmt::format("{:<11} {:>15}    of the whole context fit into the KV cache at once\n",
                    "sequences", xray::whole_sequences(forecast->input)));
  }
  const xray::PlanInput& input = forecast->input;
  const int64_t largest = input.n_pages > 0
                              ? std::min(input.n_pages * kPageTokens,
                                         std::max(input.load->config.max_context, input.context))
                              : xray::largest_context(input, forecast->limit.bytes);
  writer.write(fmt::format("{:<11} {:>15} B  {}: {}, the largest context is -c {}\n", "limit",
                           forecast->limit.bytes, forecast->limit.name,
                           forecast->fits() ? "it fits" : "it does not fit", largest));
  return kExitDone;
}

}  // namespace

void add_plan(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("plan", "Predict the memory of a run");
  sub->footer(
      "Examples:\n  fathom plan -m model.gguf -c 8192 --kv-type f32\n"
      "  fathom plan -m folder --lora adapter\n"
      "  fathom plan -m model.gguf --max-sequences 16 --memory-utilization 0.85");
  auto flags = std::make_shared<PlanFlags>();
  add_model_flags(*sub, flags->model);
  add_cache_flags(*sub, flags->model);
  add_memory_flags(*sub, flags->memory);
  sub->add_option("--max-sequences", flags->max_sequences, "Requests that run at once")
      ->check(in_range(1, 1 << 16))
      ->type_name("N")
      ->capture_default_str();
  sub->add_option(
         "--max-batched-tokens", flags->max_batched_tokens,
         fmt::format("Rows of one step (default: {} with one of the three options above, as "
                     "fathom serve; else {}, as fathom run)",
                     kServeBatchedTokens, api::SessionOptions().max_batched_tokens))
      ->check(in_range(1, 65536))
      ->type_name("N");
  add_json(*sub, flags->as_json, "Print one JSON object");
  sub->callback([flags, &command] { command = [flags] { return plan(*flags); }; });
}

}  // namespace fathom::app

// fathom plan: the memory of a run, line by line, before anything is allocated.
// Read next: xray/memory_plan.h.
#include <fmt/format.h>

#include <memory>

#include "api/session.h"
#include "command.h"
#include "options.h"
#include "run_report.h"
#include "terminal.h"

namespace fathom::app {

namespace {

struct PlanFlags {
  ModelFlags model;
  bool as_json = false;
};

int plan(const PlanFlags& flags) {
  if (flags.model.weights.check_tensors) {
    throw UsageError("--check-tensors has no effect: a plan reads no weights");
  }
  const auto forecast = api::make_forecast(session_options(flags.model));
  AnswerWriter writer;
  if (flags.as_json) {
    writer.write(plan_json(forecast->plan, true) + "\n");
    return kExitDone;
  }
  for (const xray::PlanLine& line : forecast->plan.lines) {
    writer.write(fmt::format("{:<11} {:>15} B  {}\n", line.pool, line.bytes, line.formula));
  }
  writer.write(fmt::format("{:<11} {:>15} B  context {}\n", "total", forecast->plan.total_bytes(),
                           forecast->plan.context));
  const int64_t largest = xray::largest_context(forecast->input, forecast->limit.bytes);
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
      "  fathom plan -m folder --lora adapter");
  auto flags = std::make_shared<PlanFlags>();
  add_model_flags(*sub, flags->model);
  add_cache_flags(*sub, flags->model);
  add_json(*sub, flags->as_json, "Print one JSON object");
  sub->callback([flags, &command] { command = [flags] { return plan(*flags); }; });
}

}  // namespace fathom::app

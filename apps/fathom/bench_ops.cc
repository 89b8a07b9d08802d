// Runs each phase some times under the profile, the machine's limits in the same rounds.
#include "bench_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "machine_limits.h"
#include "terminal.h"

namespace fathom::app {

namespace {

struct Limits {
  double bytes_per_s = 0;
  double integer_ops_per_s = 0;
  double float_ops_per_s = 0;
};

struct PhaseProfile {
  std::string name;
  int64_t n_steps = 0;  // runs of the prompt, or generated tokens
  double seconds = 0;   // of the steps, by the clock around them
  double sampling_s = 0;
  xray::OpProfile ops;

  // Between the operations: choosing rows, filling the batch, handing tokens on.
  [[nodiscard]] double rest_s() const { return seconds - ops.seconds() - sampling_s; }
};

// How near a line is to the limit that binds it: the larger of its shares of the machine's reading
// rate and of its arithmetic; 0 where it has neither weights nor pages to read.
double share_of_limit(const xray::OpLine& line, const Limits& limits) {
  const double arithmetic = line.is_integer ? limits.integer_ops_per_s : limits.float_ops_per_s;
  return std::max(line.bytes / limits.bytes_per_s, line.operations / arithmetic) / line.seconds;
}

// One run of a phase is added to it.
void run_phase(api::Session& session, int64_t n_prompt, int64_t n_generate, PhaseProfile& phase) {
  session.op_profile()->clear();
  const double sampling_before = session.engine().sampling_seconds();
  phase.seconds += run_seconds(session, n_prompt, n_generate);
  phase.sampling_s += session.engine().sampling_seconds() - sampling_before;
  phase.n_steps += n_generate;
  for (const xray::OpLine& line : session.op_profile()->lines()) {
    phase.ops.add(line);
  }
}

std::vector<xray::OpLine> by_time(const PhaseProfile& phase) {
  std::vector<xray::OpLine> lines = phase.ops.lines();
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return lines;
}

std::string table(const PhaseProfile& phase, const Limits& limits) {
  const double per_step_ms = 1e3 / static_cast<double>(phase.n_steps);
  std::string out = fmt::format("{}: {:.3f} ms a step\n", phase.name, phase.seconds * per_step_ms);
  out += fmt::format("  {:<22}{:<24}{:>6}{:>11}{:>8}{:>9}{:>9}{:>10}\n", "operation", "tensors",
                     "calls", "ms", "share", "GB/s", "GOP/s", "of limit");
  const auto add = [&](const std::string& op, const std::string& name, double calls, double seconds,
                       const std::string& rates) {
    out += fmt::format("  {:<22}{:<24}{:>6.0f}{:>11.4f}{:>7.1f}%{}\n", op, name, calls,
                       seconds * per_step_ms, 100.0 * seconds / phase.seconds, rates);
  };
  for (const xray::OpLine& line : by_time(phase)) {
    const double share = share_of_limit(line, limits);
    add(line.op, line.name, static_cast<double>(line.calls) / static_cast<double>(phase.n_steps),
        line.seconds,
        share == 0.0 ? ""
                     : fmt::format("{:>9.2f}{:>9.1f}{:>9.1f}%", line.bytes / line.seconds * 1e-9,
                                   line.operations / line.seconds * 1e-9, 100.0 * share));
  }
  add("sampling", "", 1, phase.sampling_s, "");
  add("between operations", "", 1, phase.rest_s(), "");
  return out;
}

nlohmann::ordered_json as_json(const PhaseProfile& phase, const Limits& limits) {
  using Json = nlohmann::ordered_json;
  const auto steps = static_cast<double>(phase.n_steps);
  Json object = {{"steps", phase.n_steps},
                 {"seconds_per_step", phase.seconds / steps},
                 {"sampling_s", phase.sampling_s / steps},
                 {"between_s", phase.rest_s() / steps},
                 {"operations", Json::array()}};
  for (const xray::OpLine& line : by_time(phase)) {
    object["operations"].push_back({{"op", line.op},
                                    {"tensors", line.name},
                                    {"calls", static_cast<double>(line.calls) / steps},
                                    {"seconds", line.seconds / steps},
                                    {"bytes", line.bytes / steps},
                                    {"operations", line.operations / steps},
                                    {"of_limit", share_of_limit(line, limits)}});
  }
  return object;
}

}  // namespace

int bench_ops(const BenchFlags& flags, api::Session& session) {
  PhaseProfile prefill;
  prefill.name = fmt::format("prefill of {} tokens", flags.n_prompt);
  PhaseProfile decode;
  decode.name = fmt::format("decode, {} tokens", flags.n_generate);
  BandwidthProbe probe(session.threads());
  Limits limits;
  run_seconds(session, flags.n_prompt, 2);  // warm-up
  for (int round = 0; round < flags.repetitions; ++round) {
    run_phase(session, flags.n_prompt, 1, prefill);
    run_phase(session, 1, flags.n_generate, decode);
    probe.measure();
    const Isa isa = session.dispatch().isa;
    limits.integer_ops_per_s =
        std::max(limits.integer_ops_per_s, measure_ops_per_s(session.threads(), isa));
    limits.float_ops_per_s =
        std::max(limits.float_ops_per_s, measure_float_ops_per_s(session.threads(), isa));
  }
  limits.bytes_per_s = probe.best().bytes_per_s;
  AnswerWriter writer;
  if (flags.as_json) {
    const nlohmann::ordered_json object = {{"model", flags.model.path},
                                           {"isa", name_of(session.dispatch().isa)},
                                           {"threads", session.threads().n_threads()},
                                           {"bytes_per_s", limits.bytes_per_s},
                                           {"integer_ops_per_s", limits.integer_ops_per_s},
                                           {"float_ops_per_s", limits.float_ops_per_s},
                                           {"prefill", as_json(prefill, limits)},
                                           {"decode", as_json(decode, limits)}};
    writer.write(object.dump() + "\n");
    return kExitDone;
  }
  writer.write(fmt::format(
      "{} threads, {}; limits: reading {:.1f} GB/s, int8 {:.0f} GOP/s, f32 {:.0f} GOP/s\n\n",
      session.threads().n_threads(), name_of(session.dispatch().isa), limits.bytes_per_s * 1e-9,
      limits.integer_ops_per_s * 1e-9, limits.float_ops_per_s * 1e-9));
  writer.write(table(prefill, limits) + "\n" + table(decode, limits));
  return kExitDone;
}

}  // namespace fathom::app

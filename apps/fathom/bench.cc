// fathom bench: how fast prompts are read and answers written, and how near to the machine's
// limits. Read next: machine_limits.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "api/session.h"
#include "base/error.h"
#include "bench_ops.h"
#include "bench_run.h"
#include "bench_serve.h"
#include "command.h"
#include "machine_limits.h"
#include "options.h"
#include "terminal.h"

namespace fathom::app {

namespace {

struct Rates {
  std::vector<double> samples;

  [[nodiscard]] double mean() const {
    return std::accumulate(samples.begin(), samples.end(), 0.0) /
           static_cast<double>(samples.size());
  }

  // Sample deviation; 0 for one sample.
  [[nodiscard]] double stdev() const {
    if (samples.size() < 2) {
      return 0.0;
    }
    const double middle = mean();
    double sum = 0.0;
    for (const double sample : samples) {
      sum += (sample - middle) * (sample - middle);
    }
    return std::sqrt(sum / static_cast<double>(samples.size() - 1));
  }
};

struct BenchResult {
  Rates prefill, decode;
  Rates depth;  // reading what decode begins behind
  Bandwidth bandwidth;
  double peak_ops_per_s = 0;
  double fed_tile_ops_per_s = 0;  // amx only
};

BenchResult measure(const BenchFlags& flags, api::Session& session) {
  BenchResult result;
  BandwidthProbe probe(session.threads());
  run_seconds(session, flags.n_prompt, 2);  // warm-up
  const auto n_tokens = static_cast<double>(flags.n_generate * flags.n_sequences);
  for (int round = 0; round < flags.repetitions; ++round) {
    result.prefill.samples.push_back(static_cast<double>(flags.n_prompt) /
                                     run_seconds(session, flags.n_prompt, 1));
    const DecodeSeconds seconds = decode_seconds(session, flags);
    result.decode.samples.push_back(n_tokens / seconds.decode);
    result.depth.samples.push_back(static_cast<double>(flags.depth * flags.n_sequences) /
                                   seconds.prompts);
    probe.measure();
    const Isa isa = session.dispatch().isa;
    result.peak_ops_per_s =
        std::max(result.peak_ops_per_s, measure_ops_per_s(session.threads(), isa));
    if (isa == Isa::kAmx) {
      result.fed_tile_ops_per_s =
          std::max(result.fed_tile_ops_per_s, measure_fed_tile_ops_per_s(session.threads()));
    }
  }
  result.bandwidth = probe.best();
  return result;
}

// One phase against both limits.
struct Phase {
  const char* name;
  const Rates* rates;
  double bytes_per_token = 0;  // weights and KV pages read
  double ops_per_token = 0;

  [[nodiscard]] double bytes_per_s() const { return bytes_per_token * rates->mean(); }

  [[nodiscard]] double ops_per_s() const { return ops_per_token * rates->mean(); }
};

std::vector<Phase> phases_of(const BenchFlags& flags, api::Session& session,
                             const BenchResult& result) {
  const model::LoadPlan& load = session.load_plan();
  const auto token_bytes = static_cast<double>(load.token_bytes);
  // A prompt needs the output head for its last token only.
  const auto values = static_cast<double>(load.matrix_values);
  const auto head = static_cast<double>(load.config.n_vocab * load.config.hidden_size);
  const double prompt_values = values - head + head / static_cast<double>(flags.n_prompt);
  const double kv_bytes =
      static_cast<double>(kv::pool_bytes(session.pages().shape(), 1)) / kPageTokens;
  const double positions = static_cast<double>(std::max<int64_t>(1, flags.depth)) +
                           0.5 * static_cast<double>(flags.n_generate);
  const double chunk =
      static_cast<double>(std::min<int64_t>(flags.n_prompt, session.model().limits().max_tokens));
  return {
      {"prefill", &result.prefill, token_bytes / chunk, 2.0 * prompt_values},
      {"decode", &result.decode,
       token_bytes / static_cast<double>(flags.n_sequences) + kv_bytes * positions, 2.0 * values}};
}

std::string bench_json(const BenchFlags& flags, api::Session& session, const BenchResult& result) {
  using nlohmann::ordered_json;
  ordered_json object = {
      {"model", flags.model.path},
      {"isa", name_of(session.dispatch().isa)},
      {"threads", session.threads().n_threads()},
      {"n_prompt", flags.n_prompt},
      {"n_generate", flags.n_generate},
      {"n_sequences", flags.n_sequences},
      {"depth", flags.depth},
      {"repetitions", flags.repetitions},
      {"load_s", session.figures().load_s},
      {"bandwidth",
       {{"bytes_per_s", result.bandwidth.bytes_per_s}, {"streams", result.bandwidth.streams}}},
      {"peak_ops_per_s", result.peak_ops_per_s}};
  if (result.fed_tile_ops_per_s > 0) {
    object["fed_tile_ops_per_s"] = result.fed_tile_ops_per_s;
  }
  if (flags.depth > 0) {
    object["depth_tok_s"] = {{"mean", result.depth.mean()}, {"samples", result.depth.samples}};
  }
  for (const Phase& phase : phases_of(flags, session, result)) {
    const std::string name = phase.name;
    object[name + "_tok_s"] = {{"mean", phase.rates->mean()},
                               {"stdev", phase.rates->stdev()},
                               {"samples", phase.rates->samples}};
    object[name + "_limits"] = {
        {"bytes_per_token", phase.bytes_per_token},
        {"ops_per_token", phase.ops_per_token},
        {"of_bandwidth", phase.bytes_per_s() / result.bandwidth.bytes_per_s},
        {"of_peak_ops", phase.ops_per_s() / result.peak_ops_per_s}};
  }
  return object.dump();
}

void print_result(const BenchFlags& flags, api::Session& session, const BenchResult& result) {
  AnswerWriter writer;
  writer.write(fmt::format(
      "{} threads, {}; limits: reading {:.1f} GB/s ({} streams a thread), int8 {:.0f} GOP/s\n",
      session.threads().n_threads(), name_of(session.dispatch().isa),
      result.bandwidth.bytes_per_s * 1e-9, result.bandwidth.streams, result.peak_ops_per_s * 1e-9));
  if (result.fed_tile_ops_per_s > 0) {
    writer.write(
        fmt::format("tiles loaded from L1: int8 {:.0f} GOP/s\n", result.fed_tile_ops_per_s * 1e-9));
  }
  for (const Phase& phase : phases_of(flags, session, result)) {
    const bool is_prefill = phase.rates == &result.prefill;
    writer.write(fmt::format(
        "{:<7} {:>5} tokens {:9.1f} +- {:.1f} tok/s   {:6.2f} GB/s ({:.0f} % of reading)   {:6.1f} "
        "GOP/s ({:.0f} % of int8)\n",
        phase.name, is_prefill ? flags.n_prompt : flags.n_generate, phase.rates->mean(),
        phase.rates->stdev(), phase.bytes_per_s() * 1e-9,
        100.0 * phase.bytes_per_s() / result.bandwidth.bytes_per_s, phase.ops_per_s() * 1e-9,
        100.0 * phase.ops_per_s() / result.peak_ops_per_s));
  }
}

int bench(BenchFlags flags) {
  if (flags.ops && (flags.n_sequences > 1 || flags.depth > 0)) {
    fail(
        ErrorCode::kInvalidArgument,
        "bench: --ops shows one sequence from an empty context; leave --sequences and --depth out");
  }
  // A request of n tokens uses n positions.
  flags.model.context = std::max(flags.n_prompt + 2, decode_context(flags));
  api::SessionOptions options = session_options(flags.model);
  options.max_sequences = flags.n_sequences;
  options.profile_ops = flags.ops;
  const auto session = api::Session::open(options);
  if (flags.ops) {
    return bench_ops(flags, *session);
  }
  const BenchResult result = measure(flags, *session);
  if (flags.as_json) {
    AnswerWriter().write(bench_json(flags, *session, result) + "\n");
  } else {
    print_result(flags, *session, result);
  }
  return kExitDone;
}

}  // namespace

void add_bench(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("bench", "Measure prefill and decode against the machine");
  sub->footer(
      "Examples:\n  fathom bench -m model.gguf -p 512 -n 128 -t 2\n"
      "  fathom bench -m model.gguf --ops          where the time of a step goes\n"
      "  fathom bench serve http://localhost:8080  a server under load");
  auto flags = std::make_shared<BenchFlags>();
  add_model_flags(*sub, flags->model);
  add_kv_type(*sub, flags->model.kv_type);
  const auto counts = in_range(int64_t{1}, int64_t{1} << 24);
  sub->add_option("-p,--n-prompt", flags->n_prompt, "Tokens of the prompt")
      ->check(counts)
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("-n,--n-gen", flags->n_generate, "Tokens to generate in every sequence")
      ->check(counts)
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--sequences", flags->n_sequences, "Sequences that decode side by side")
      ->check(in_range(1, 512))
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--depth", flags->depth,
                  "Tokens that each of them holds before decode is measured")
      ->check(in_range(0, int64_t{1} << 24))
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("-r,--repetitions", flags->repetitions, "Rounds")
      ->check(in_range(1, 1000))
      ->capture_default_str()
      ->type_name("N");
  sub->add_flag("--ops", flags->ops,
                "Show time, memory traffic and arithmetic of every operation instead");
  add_json(*sub, flags->as_json, "Print one JSON object");
  add_bench_serve(*sub, command);
  sub->callback([flags, &command] {
    if (!command) {  // no subcommand of its own was given
      command = [flags] { return bench(*flags); };
    }
  });
}

}  // namespace fathom::app

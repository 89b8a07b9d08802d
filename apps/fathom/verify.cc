// fathom verify: the promise of same bits, tried on a model of one's own.
// Read next: api/verify.h.
#include "api/verify.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "command.h"
#include "options.h"
#include "terminal.h"

namespace fathom::app {

namespace {

using nlohmann::ordered_json;

constexpr int64_t kDefaultContext = 512;

constexpr const char* kFooter = R"(Examples:
  fathom verify -m model.gguf
  fathom verify -m folder --compute f32 -n 64 --json

Seven prompts of fixed token ids are answered one after the other; then again in a batch, in other chunks, from
cached beginnings, with pre-emptions, with other numbers of threads, and with every instruction set of the CPU.
Equal means: the same ids, and log probabilities with the same bits. Exit status 1 where anything differs.)";

struct VerifyFlags {
  ModelFlags model;
  int64_t max_tokens = 24;
  bool as_json = false;
};

ordered_json way_object(const api::VerifyWay& way) {
  return {{"way", way.name},
          {"equal", way.n_equal},
          {"different", way.n_different},
          {"first_difference", way.first_difference.empty() ? ordered_json(nullptr)
                                                            : ordered_json(way.first_difference)},
          {"preemptions", way.n_preemptions},
          {"cached_tokens", way.cached_tokens},
          {"seconds", way.seconds}};
}

std::string report_json(const std::string& model, const api::VerifyReport& report) {
  ordered_json object = {{"model", model},
                         {"isa", report.isa},
                         {"threads", report.n_threads},
                         {"prompts", report.n_prompts},
                         {"tokens", report.n_tokens},
                         {"bits", fmt::format("{:016x}", report.bits)},
                         {"equal", report.is_equal()},
                         {"ways", ordered_json::array()}};
  for (const api::VerifyWay& way : report.ways) {
    object["ways"].push_back(way_object(way));
  }
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string report_lines(const api::VerifyReport& report) {
  std::string lines =
      fmt::format("{} prompts, {} tokens, {} threads, {}: bits {:016x}\n", report.n_prompts,
                  report.n_tokens, report.n_threads, report.isa, report.bits);
  for (const api::VerifyWay& way : report.ways) {
    std::string notes;
    if (way.n_preemptions > 0) {
      notes += fmt::format(", {} pre-emptions", way.n_preemptions);
    }
    if (way.cached_tokens > 0) {
      notes += fmt::format(", {} tokens from the cache", way.cached_tokens);
    }
    const std::string verdict =
        way.n_different == 0
            ? fmt::format("equal{}", notes)
            : fmt::format("{} DIFFER{}: {}", way.n_different, notes, way.first_difference);
    lines += fmt::format("{:<32} {:>7.2f} s  {}\n", way.name, way.seconds, verdict);
  }
  return lines + (report.is_equal() ? "all bits are equal\n" : "not all bits are equal\n");
}

int verify(const VerifyFlags& flags) {
  api::VerifyOptions options;
  options.session = session_options(flags.model);
  if (options.session.context == -1) {
    options.session.context = kDefaultContext;
  }
  options.max_tokens = flags.max_tokens;
  const api::VerifyReport report = api::verify(options);
  AnswerWriter writer;
  writer.write(flags.as_json ? report_json(flags.model.path, report) : report_lines(report));
  return report.is_equal() ? kExitDone : kExitFailed;
}

}  // namespace

void add_verify(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("verify", "Prove that a model gives the same bits in every way");
  sub->footer(kFooter);
  auto flags = std::make_shared<VerifyFlags>();
  add_model_flags(*sub, flags->model);
  add_cache_flags(*sub, flags->model);
  add_attention_flag(*sub, flags->model);
  sub->add_option("-n,--max-tokens", flags->max_tokens, "Tokens of each answer")
      ->check(in_range(1, 4096))
      ->type_name("N")
      ->capture_default_str();
  add_json(*sub, flags->as_json, "Print one JSON object");
  sub->callback([flags, &command] { command = [flags] { return verify(*flags); }; });
}

}  // namespace fathom::app

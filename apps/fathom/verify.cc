// fathom verify: the promise of same bits, tried on a model of one's own.
// Read next: api/verify.h.
#include "api/verify.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "api/fast_receipt.h"
#include "base/log.h"
#include "command.h"
#include "options.h"
#include "prompt.h"
#include "terminal.h"

namespace fathom::app {

namespace {

using nlohmann::ordered_json;

constexpr int64_t kDefaultContext = 512;

constexpr const char* kFooter = R"(Examples:
  fathom verify -m model.gguf
  fathom verify -m folder --compute f32 -n 64 --json
  fathom verify -m model.gguf --arithmetic fast -f book.txt

Seven prompts of fixed token ids are answered one after the other; then again in a batch, in other chunks, from
cached beginnings, with pre-emptions, with other numbers of threads, and with every instruction set of the CPU.
Equal means: the same ids, and log probabilities with the same bits. Exit status 1 where anything differs.

With --arithmetic fast the text of -f is scored as well, with f32 and with fast prompts. Their mean KL divergence
is written to a receipt in ~/.local/state/fathom/fast, which `fathom run` and `fathom serve` ask for; exit status 1
where it is above 0.005.)";

constexpr int64_t kDefaultChunks = 8;

struct VerifyFlags {
  ModelFlags model;
  int64_t max_tokens = 24;
  std::string file;
  int64_t max_chunks = kDefaultChunks;
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

ordered_json receipt_object(const std::optional<api::FastReceipt>& receipt) {
  if (!receipt) {
    return nullptr;
  }
  return {{"kl_to_f32", receipt->divergence}, {"limit", api::kMostFastDivergence},
          {"tokens", receipt->n_tokens},      {"text_sha256", receipt->text_id},
          {"model_id", receipt->model_id},    {"admitted", receipt->is_admitted()}};
}

std::string receipt_line(const api::FastReceipt& receipt) {
  return fmt::format(
      "fast prompts: mean KL divergence from f32 {:.5f} over {} tokens, at most {}: {}\n",
      receipt.divergence, receipt.n_tokens, api::kMostFastDivergence,
      receipt.is_admitted() ? "admitted" : "not admitted");
}

std::string report_json(const std::string& model, const api::VerifyReport& report,
                        const std::optional<api::FastReceipt>& receipt) {
  ordered_json object = {{"model", model},
                         {"isa", report.isa},
                         {"threads", report.n_threads},
                         {"prompts", report.n_prompts},
                         {"tokens", report.n_tokens},
                         {"bits", fmt::format("{:016x}", report.bits)},
                         {"equal", report.is_equal()},
                         {"fast", receipt_object(receipt)},
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

// Measures fast prompts against f32 and leaves the receipt.
api::FastReceipt measure(const VerifyFlags& flags, const api::SessionOptions& session,
                         const std::string& text) {
  const std::string folder = api::fast_receipt_folder();
  api::FastMeasurement job;
  job.session = session;
  job.text = text;
  job.max_chunks = flags.max_chunks;
  job.scratch_folder = folder;
  job.version = version();
  job.on_run = [](std::string_view arithmetic) {
    note(fmt::format("scoring the text with {}", arithmetic));
  };
  api::FastReceipt receipt = api::measure_fast(job);
  api::write_fast_receipt(folder, receipt);
  return receipt;
}

int verify(const VerifyFlags& flags) {
  const bool is_fast = flags.model.arithmetic == "fast";
  if (is_fast == flags.file.empty()) {
    throw UsageError(is_fast ? "--arithmetic fast is measured on a text: give one with -f"
                             : "-f has no effect without --arithmetic fast");
  }
  const std::string text = is_fast ? read_plain_text(flags.file, "the text") : std::string();
  api::VerifyOptions options;
  options.session = session_options(flags.model);
  if (options.session.context == -1) {
    options.session.context = kDefaultContext;
  }
  options.max_tokens = flags.max_tokens;
  const api::VerifyReport report = api::verify(options);
  std::optional<api::FastReceipt> receipt;
  if (is_fast) {
    receipt = measure(flags, options.session, text);
  }
  AnswerWriter writer;
  writer.write(flags.as_json ? report_json(flags.model.path, report, receipt)
                             : report_lines(report) + (receipt ? receipt_line(*receipt) : ""));
  const bool is_admitted = !receipt || receipt->is_admitted();
  return report.is_equal() && is_admitted ? kExitDone : kExitFailed;
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
  sub->add_option("-f,--file", flags->file, "The text that --arithmetic fast is measured on")
      ->check(require_name)
      ->type_name("FILE");
  sub->add_option("--chunks", flags->max_chunks, "Chunks of 512 tokens of it at most")
      ->check(in_range(int64_t{1}, int64_t{1} << 31))
      ->type_name("N")
      ->capture_default_str();
  add_json(*sub, flags->as_json, "Print one JSON object");
  sub->callback([flags, &command] { command = [flags] { return verify(*flags); }; });
}

}  // namespace fathom::app

// A receipt is a small JSON file named after the model's content. Read next: api/perplexity.cc.
#include "api/fast_receipt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "api/content_id.h"
#include "api/divergence.h"
#include "api/overrides.h"
#include "api/perplexity.h"
#include "api/saved_logprobs.h"
#include "base/error.h"
#include "base/output_file.h"

namespace fathom::api {

namespace {

using nlohmann::ordered_json;

constexpr int64_t kRows = 128;  // of logits at once

std::string path_of(const std::string& folder, const std::string& model_id) {
  return fmt::format("{}/{}.json", folder, model_id);
}

std::string verify_command(const std::string& model_path) {
  return fmt::format("fathom verify -m {} --arithmetic fast -f TEXT", model_path);
}

// Removes a file when it goes.
class ScratchFile {
 public:
  explicit ScratchFile(std::string path) : path_(std::move(path)) {}

  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<Session> open_session(const FastMeasurement& job, bool is_fast) {
  SessionOptions options = job.session;
  options.context = kDefaultChunk;
  options.max_logits = kRows;
  options.max_sequences = 1;
  options.page_type.reset();
  options.compute_f32 = !is_fast;
  options.fast_prompts = is_fast;
  auto session = Session::open(options);
  if (session->tokenizer() == nullptr) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: found no vocabulary, which a text needs; give a model with one",
                     options.model_path));
  }
  return session;
}

}  // namespace

std::string fast_receipt_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const bool has_state = state != nullptr && *state != '\0';
  if (!has_state && (home == nullptr || *home == '\0')) {
    fail(ErrorCode::kInvalidArgument,
         "receipts of `fathom verify` have no place: neither XDG_STATE_HOME nor HOME is set; set "
         "one, or use --arithmetic exact");
  }
  return fmt::format("{}{}/fathom/fast", has_state ? state : home,
                     has_state ? "" : "/.local/state");
}

std::string fast_model_id(const SessionOptions& options) {
  const auto file = weights::open_model(options.model_path);
  apply_overrides(*file, options.overrides);
  std::vector<std::unique_ptr<weights::Adapter>> adapters;
  std::vector<AppliedAdapter> applied;
  for (const AdapterPath& path : options.adapters) {
    adapters.push_back(weights::open_adapter(path.folder));
    applied.push_back({adapters.back().get(), path.folder, path.scale, options.merge_adapters});
  }
  const std::string id = model_content_id(*file);
  return applied.empty() ? id : text_content_id(id + adapter_content_id(applied));
}

void write_fast_receipt(const std::string& folder, const FastReceipt& receipt) {
  std::filesystem::create_directories(folder);
  const ordered_json object = {{"model_id", receipt.model_id},   {"model", receipt.model},
                               {"rule", receipt.rule},           {"kl_to_f32", receipt.divergence},
                               {"limit", kMostFastDivergence},   {"tokens", receipt.n_tokens},
                               {"text_sha256", receipt.text_id}, {"version", receipt.version}};
  OutputFile file(path_of(folder, receipt.model_id));
  file.write(object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  file.commit();
}

std::optional<FastReceipt> read_fast_receipt(const std::string& folder,
                                             const std::string& model_id) {
  const std::string path = path_of(folder, model_id);
  std::ifstream stream(path);
  if (!stream) {
    return std::nullopt;
  }
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  try {
    const auto object = ordered_json::parse(text);
    FastReceipt receipt;
    receipt.model_id = object.at("model_id").get<std::string>();
    receipt.model = object.at("model").get<std::string>();
    receipt.rule = object.at("rule").get<int>();
    receipt.divergence = object.at("kl_to_f32").get<double>();
    receipt.n_tokens = object.at("tokens").get<int64_t>();
    receipt.text_id = object.at("text_sha256").get<std::string>();
    receipt.version = object.at("version").get<std::string>();
    if (receipt.model_id != model_id) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: found the receipt of model {}, expected {}; remove the file and run "
                       "`fathom verify` again",
                       path, receipt.model_id, model_id));
    }
    return receipt;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: is no receipt of `fathom verify`: {}; remove the file and run it again",
                     path, error.what()));
  }
}

void require_fast_receipt(const std::string& model_path,
                          const std::optional<FastReceipt>& receipt) {
  if (!receipt) {
    fail(
        ErrorCode::kUnsupported,
        fmt::format("--arithmetic fast: nobody has measured yet how far its answers are from those "
                    "of --compute f32 on {}; allowed: a mean KL divergence up to {}; run `{}`",
                    model_path, kMostFastDivergence, verify_command(model_path)));
  }
  if (receipt->rule != kFastRule) {
    fail(
        ErrorCode::kUnsupported,
        fmt::format("--arithmetic fast: {} was measured under rule {} of it, this program computes "
                    "by rule {}; run `{}` again",
                    model_path, receipt->rule, kFastRule, verify_command(model_path)));
  }
  if (!receipt->is_admitted()) {
    fail(ErrorCode::kUnsupported,
         fmt::format(
             "--arithmetic fast: its mean KL divergence from --compute f32 on {} is {:.5f}, "
             "more than the {} that is allowed; use --arithmetic exact (`{}` measures "
             "again, on another text)",
             model_path, receipt->divergence, kMostFastDivergence, verify_command(model_path)));
  }
}

FastReceipt measure_fast(const FastMeasurement& job) {
  FastReceipt receipt;
  receipt.model_id = fast_model_id(job.session);
  receipt.model = job.session.model_path;
  receipt.text_id = text_content_id(job.text);
  receipt.version = job.version;
  std::filesystem::create_directories(job.scratch_folder);
  const ScratchFile scratch(fmt::format("{}/{}.logp", job.scratch_folder, receipt.model_id));
  ChunkedText text;
  const auto begin = [&](std::string_view arithmetic) {
    if (job.on_run) {
      job.on_run(arithmetic);
    }
  };
  {
    begin("f32");
    const auto session = open_session(job, false);
    text = cut_text(*session->tokenizer(), job.text, kDefaultChunk, job.max_chunks);
    LogProbWriter writer(scratch.path(), "f32", session->load_plan().config.n_vocab, text);
    measure_perplexity(*session, text,
                       {.on_rows = [&](const ScoredRows& rows) { writer.write(rows); }});
    writer.commit();
  }
  begin("fast");
  const SavedLogProbs saved(scratch.path());
  const auto session = open_session(job, true);
  DivergenceMeter meter(saved);
  measure_perplexity(*session, text, {.on_rows = [&](const ScoredRows& rows) {
    meter.add(rows, session->threads());
  }});
  const DivergenceReport report = meter.report();
  receipt.divergence = report.mean;
  receipt.n_tokens = report.n_tokens;
  return receipt;
}

}  // namespace fathom::api

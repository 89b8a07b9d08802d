// fathom perplexity: how well a model predicts a text, alone and beside another run.
// Read next: api/perplexity.h, api/divergence.h.
#include "api/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/divergence.h"
#include "api/saved_logprobs.h"
#include "base/error.h"
#include "base/log.h"
#include "command.h"
#include "options.h"
#include "prompt.h"
#include "signals.h"
#include "terminal.h"

namespace fathom::app {

namespace {

using nlohmann::ordered_json;

constexpr int64_t kMaxRows = 128;  // rows of logits at once

constexpr const char* kFooter = R"(Examples:
  fathom perplexity -m model.gguf -f book.txt
  fathom perplexity -m model.gguf -f book.txt --chunks 20 --json
  fathom perplexity -m folder -f book.txt --chunks 4 --compute f32 --save-logits base.logp
  fathom perplexity -m model.gguf -f book.txt --against base.logp

The text is cut into chunks of -c tokens, each read from an empty context, with BOS in place of its first
token where the model adds one; only the second half of each chunk is scored. docs/perplexity.md tells
more. --save-logits takes 4 bytes x vocabulary for every scored token. scripts/fetch-text gets a book.)";

struct PerplexityFlags {
  ModelFlags model;
  std::string file;
  int64_t chunk = api::kDefaultChunk;
  int64_t max_chunks = -1;
  std::string save;
  std::string against;
  bool as_json = false;
};

// Ctrl-C, or a reader that went away: the work ends in order, so that no half of a file stays.
struct Stopped {
  int status;
};

// What was measured.
struct PerplexityRecord {
  api::ChunkedText text;
  api::PerplexitySum sum;
  std::vector<double> running;  // perplexity after each chunk
  double seconds = 0;
  std::string saved_name;  // of the model that is compared with
  std::optional<api::DivergenceReport> divergence;
};

std::string base_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// The text of one token, in quotes, on one line.
std::string shown(const api::Session& session, int32_t id) {
  return ordered_json(session.tokenizer()->bytes_of(id, true))
      .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json divergence_object(const api::Session& session, const PerplexityRecord& record) {
  if (!record.divergence) {
    return nullptr;
  }
  const api::DivergenceReport& report = *record.divergence;
  return {{"model", record.saved_name},
          {"perplexity", report.saved.perplexity()},
          {"mean", report.mean},
          {"median", report.median},
          {"p99", report.p99},
          {"max", report.max},
          {"same_top", report.same_top_share()},
          {"worst_token",
           {{"position", report.worst_index},
            {"id", report.worst_id},
            {"text", session.tokenizer()->bytes_of(report.worst_id, true)},
            {"saved_probability", report.worst_saved_probability},
            {"probability", report.worst_probability}}}};
}

std::string record_json(const PerplexityFlags& flags, api::Session& session,
                        const PerplexityRecord& record) {
  const ordered_json object = {{"model", flags.model.path},
                               {"file", flags.file},
                               {"chunk", record.text.chunk},
                               {"chunks", record.text.n_chunks()},
                               {"scored_tokens", record.sum.n_tokens},
                               {"nll", record.sum.mean()},
                               {"perplexity", record.sum.perplexity()},
                               {"standard_error", record.sum.error()},
                               {"running", record.running},
                               {"divergence", divergence_object(session, record)},
                               {"arithmetic", arithmetic_name(flags.model)},
                               {"isa", name_of(session.dispatch().isa)},
                               {"threads", session.threads().n_threads()},
                               {"seconds", record.seconds},
                               {"warnings", logged_warnings()}};
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string record_lines(const api::Session& session, const PerplexityRecord& record) {
  std::string out = fmt::format("\nFinal estimate: PPL = {:.4f} +/- {:.5f}\n",
                                record.sum.perplexity(), record.sum.error());
  out += fmt::format("{} tokens scored, in {} chunks of {}; {:.1f} s\n", record.sum.n_tokens,
                     record.text.n_chunks(), record.text.chunk, record.seconds);
  if (!record.divergence) {
    return out;
  }
  const api::DivergenceReport& report = *record.divergence;
  out +=
      fmt::format("against {}: PPL = {:.4f} there, {:.5f} times that here\n", record.saved_name,
                  report.saved.perplexity(), record.sum.perplexity() / report.saved.perplexity());
  out += fmt::format("KL divergence: mean {:.3g}, median {:.3g}, 99 % {:.3g}, max {:.3g}\n",
                     report.mean, report.median, report.p99, report.max);
  out += fmt::format("same likeliest token: {:.3f} %\n", 100.0 * report.same_top_share());
  out += fmt::format("worst token: position {}, {}, probability {:.4g} there, {:.4g} here\n",
                     report.worst_index, shown(session, report.worst_id),
                     report.worst_saved_probability, report.worst_probability);
  return out;
}

std::unique_ptr<api::Session> open_session(const PerplexityFlags& flags) {
  LoadBar bar;
  api::SessionOptions options = session_options(flags.model);
  options.context = flags.chunk;
  options.max_logits = std::min(kMaxRows, flags.chunk);
  options.progress = [&bar](int64_t done, int64_t all) { bar.show(done, all); };
  return api::Session::open(options);
}

// At most as many chunks as there are to compare with. Errors: those of cut_text and require_same;
// kUnsupported without a vocabulary.
api::ChunkedText chunks_of(const PerplexityFlags& flags, const std::string& text,
                           const api::Session& session, const api::SavedLogProbs* saved) {
  if (session.tokenizer() == nullptr) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: found no vocabulary, which a text needs; give a model with one",
                     flags.model.path));
  }
  const bool takes_all = flags.max_chunks < 0 && saved != nullptr;
  api::ChunkedText chunks = api::cut_text(*session.tokenizer(), text, flags.chunk,
                                          takes_all ? saved->n_chunks() : flags.max_chunks);
  if (saved != nullptr) {
    saved->require_same(session.load_plan().config.n_vocab, chunks);
  }
  return chunks;
}

PerplexityRecord measure(const PerplexityFlags& flags, const std::string& text,
                         api::Session& session, const api::SavedLogProbs* saved,
                         AnswerWriter& out) {
  PerplexityRecord record;
  record.text = chunks_of(flags, text, session, saved);
  const StopScope scope;
  std::optional<api::LogProbWriter> writer;
  if (!flags.save.empty()) {
    writer.emplace(flags.save, base_name(flags.model.path), session.load_plan().config.n_vocab,
                   record.text);
  }
  std::optional<api::DivergenceMeter> meter;
  if (saved != nullptr) {
    meter.emplace(*saved);
    record.saved_name = saved->model_name();
  }
  const bool shows_values = !flags.as_json;
  std::optional<LoadBar> bar;
  if (!shows_values || !stdout_is_terminal()) {  // else the values themselves show how far it is
    bar.emplace("scoring");
  }
  api::PerplexityHooks hooks;
  hooks.on_rows = [&](const api::ScoredRows& rows) {
    if (writer) {
      writer->write(rows);
    }
    if (meter) {
      meter->add(rows, session.threads());
    }
    if (bar) {
      bar->show(rows.first, std::ssize(record.text.ids));
    }
    if (StopScope::is_stopped() || out.is_closed()) {
      throw Stopped{out.is_closed() ? kExitDone : kExitInterrupted};
    }
  };
  hooks.on_chunk = [&](int64_t chunk, const api::PerplexitySum& so_far) {
    record.running.push_back(so_far.perplexity());
    if (shows_values) {
      out.write(fmt::format("[{}]{:.4f},", chunk + 1, record.running.back()));
    }
  };
  const auto start = std::chrono::steady_clock::now();
  record.sum = api::measure_perplexity(session, record.text, hooks);
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (writer) {
    writer->commit();
  }
  if (meter) {
    record.divergence = meter->report();
  }
  return record;
}

int perplexity(const PerplexityFlags& flags) {
  const std::string text = read_plain_text(flags.file, "the text");
  std::optional<api::SavedLogProbs> saved;
  if (!flags.against.empty()) {
    saved.emplace(flags.against);
  }
  const auto session = open_session(flags);
  AnswerWriter out;
  try {
    const PerplexityRecord record = measure(flags, text, *session, saved ? &*saved : nullptr, out);
    out.write(flags.as_json ? record_json(flags, *session, record)
                            : record_lines(*session, record));
  } catch (const Stopped& stopped) {
    return stopped.status;
  }
  return kExitDone;
}

}  // namespace

void add_perplexity(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("perplexity", "Measure how well a model predicts a text");
  sub->footer(kFooter);
  auto flags = std::make_shared<PerplexityFlags>();
  add_model_flags(*sub, flags->model);
  sub->add_option("-f,--file", flags->file, "The text")
      ->required()
      ->check(require_name)
      ->type_name("FILE");
  sub->add_option("-c,--context", flags->chunk, "Tokens in a chunk")
      ->check(in_range(api::kMinChunk, int64_t{1} << 31))
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--chunks", flags->max_chunks, "Read only so many chunks (default: all)")
      ->check(in_range(int64_t{1}, int64_t{1} << 31))
      ->type_name("N");
  add_kv_type(*sub, flags->model.kv_type);
  add_attention_flag(*sub, flags->model);
  sub->add_option("--save-logits", flags->save,
                  "Write all log-probabilities to a file, for --against")
      ->check(require_name)
      ->type_name("FILE");
  sub->add_option("--against", flags->against,
                  "Compare with the log-probabilities that another run saved")
      ->check(require_name)
      ->type_name("FILE");
  add_json(*sub, flags->as_json, "Print one JSON object");
  sub->callback([flags, &command] { command = [flags] { return perplexity(*flags); }; });
}

}  // namespace fathom::app

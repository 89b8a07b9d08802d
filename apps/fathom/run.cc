// fathom run: one answer to one prompt, or a chat.
// Read next: api/generator.cc, chat_loop.cc.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "chat_loop.h"
#include "command.h"
#include "memory_flags.h"
#include "run_flags.h"
#include "run_report.h"
#include "run_watch.h"
#include "signals.h"
#include "terminal.h"

namespace fathom::app {

namespace {

constexpr const char* kFooter = R"(Examples:
  fathom run -m model.gguf -p "Why is the sky blue?" -n 200
  fathom run -m model.gguf --raw -p "Once upon a time" --temp 0
  fathom run -m model.gguf -f question.txt --system @rules.txt --json
  fathom run -m folder --ids 1,2,3 --temp 0 -n 24 --compute f32
  fathom run -m folder --lora adapter --lora style=0.5 -p "Dear neighbour,"
  fathom run -m model.gguf --check-tensors --override tokenizer.ggml.eos_token_id=2 -p Hi

The answer goes to stdout, everything else to stderr.
Environment: FATHOM_ISA caps the instruction set.)";

// Errors of a single request value that needs the vocabulary: wrong usage.
void check_sampling(const sample::SamplingParams& params, int64_t n_vocab) {
  try {
    sample::check(params, n_vocab);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

// The same request with the KV cache, in silence, for --no-kv-cache to compare with.
api::GenerateResult run_with_cache(api::Session& session, api::GenerateOptions options) {
  session.set_kv_cache(true);
  options.on_text = nullptr;
  options.on_step = nullptr;
  api::GenerateResult result = api::generate(session, options);
  session.set_kv_cache(false);
  return result;
}

// Says what the cache saves. Error: kInternal when the answers differ.
void compare_with_cache(const api::GenerateResult& cached, RunRecord& record) {
  const api::GenerateResult& plain = record.result;
  if (cached.reason == engine::FinishReason::kCancelled ||
      plain.reason == engine::FinishReason::kCancelled) {
    return;
  }
  if (cached.tokens != plain.tokens) {
    fail(ErrorCode::kInternal,
         "the answers with and without the KV cache differ; please report this with the model, the "
         "prompt and the seed");
  }
  CacheComparison comparison;
  comparison.rows_with = cached.usage.rows_after_prompt;
  comparison.rows_without = plain.usage.rows_after_prompt;
  comparison.seconds_with = cached.usage.decode_s;
  comparison.seconds_without = plain.usage.decode_s;
  record.cache = comparison;
}

int answer(const RunFlags& flags, const Prompt& prompt, api::Session& session) {
  RunRecord record;
  record.prompt = prompt_ids(prompt, flags.prompt, session);
  record.seed = flags.sampling.params.seed;
  record.arithmetic = arithmetic_name(flags.model);
  AnswerWriter writer;
  RunWatch watch(session, flags.trace, flags.check_nan, std::ssize(record.prompt));
  api::GenerateOptions options = generate_options(flags, record.prompt);
  if (!flags.as_json) {
    options.on_text = [&](std::string_view text) { writer.write(text); };
  }
  options.on_step = [&](int64_t n_rows) { watch.on_step(n_rows); };
  options.cancelled = [&] {
    return StopScope::is_stopped() || writer.is_closed() || watch.has_bad_value();
  };
  const StopScope scope;
  try {
    api::GenerateResult cached;
    if (flags.no_kv_cache) {
      cached = run_with_cache(session, options);
    }
    record.result = api::generate(session, options);
    watch.require_finite();
    if (flags.no_kv_cache) {
      compare_with_cache(cached, record);
    }
  } catch (const Error&) {
    watch.require_finite();  // names the first bad value; the engine names the first operation
    throw;
  }
  if (writer.is_closed()) {
    return kExitDone;
  }
  const bool is_text = !flags.as_json && session.tokenizer() != nullptr;
  if (is_text && !writer.at_line_start()) {
    writer.write("\n");  // before the warning, which would stand behind the answer on its line
  }
  if (is_context_full(session, record)) {
    warn(full_context_warning(session));
  }
  if (flags.as_json) {
    writer.write(run_json(session, record) + "\n");
  } else if (!is_text) {
    writer.write(ids_text(record.result.tokens) + "\n");
  }
  if (!flags.as_json && flags.sampling.params.n_logprobs >= 0) {
    std::fputs(logprob_table(session, record.result).c_str(), stderr);
  }
  if (record.cache && !flags.as_json) {
    std::fprintf(stderr, "%s\n", cache_line(*record.cache).c_str());
  }
  if (!writer.is_closed()) {
    std::fprintf(stderr, "%s\n", summary_line(session, record).c_str());
  }
  return StopScope::is_stopped() ? kExitInterrupted : kExitDone;
}

int run(const CommandLine& app, RunFlags flags) {
  settle_sampling(app, flags.sampling);
  const Prompt prompt = read_prompt(flags.prompt);
  const bool is_chat = prompt.kind == PromptKind::kChat;
  if (is_chat && (flags.as_json || flags.trace || flags.check_nan || flags.no_kv_cache ||
                  flags.prompt.is_raw)) {
    throw UsageError(
        "--json, --raw, --trace, --check-nan and --no-kv-cache need a prompt: -p, -f, --ids or a "
        "pipe");
  }
  std::unique_ptr<api::Session> session;
  {
    LoadBar bar;
    api::SessionOptions options = session_options(flags.model);
    require_arithmetic(options);
    options.use_kv_cache = !flags.no_kv_cache;
    options.check_pages = flags.check_pages;
    options.prefix_cache = is_chat;  // each turn begins with those before
    options.progress = [&bar](int64_t done, int64_t all) { bar.show(done, all); };
    session = api::Session::open(options);
  }
  take_model_sampling(app, api::read_model_sampling(session->file().metadata), flags.sampling);
  check_sampling(flags.sampling.params, session->load_plan().config.n_vocab);
  return is_chat ? chat_loop(flags, *session) : answer(flags, prompt, *session);
}

}  // namespace

api::GenerateOptions generate_options(const RunFlags& flags, std::vector<int32_t> ids) {
  api::GenerateOptions options;
  options.prompt = std::move(ids);
  options.sampling = flags.sampling.params;
  options.max_tokens = flags.max_tokens;
  options.stops = flags.stops;
  options.ignore_eos = flags.ignore_eos;
  options.continues_text =
      flags.prompt.is_raw || !flags.prompt.ids.empty() || flags.prompt.chat.continue_final_message;
  return options;
}

void add_run(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("run", "Answer a prompt, or chat");
  sub->footer(kFooter);
  auto flags = std::make_shared<RunFlags>();
  add_model_flags(*sub, flags->model);
  add_cache_flags(*sub, flags->model);
  add_attention_flag(*sub, flags->model);
  add_prompt_flags(*sub, flags->prompt);
  sub->add_option("-n,--max-tokens", flags->max_tokens,
                  "Tokens of the answer at most (default: until the context is full)")
      ->check(check_token_count)
      ->type_name("N");
  sub->add_option("--stop", flags->stops, "End the answer before this text; several are allowed")
      ->one_per_use()
      ->check([](const std::string& text) {
        return text.empty() ? std::string("an empty stop string ends nothing") : std::string();
      })
      ->type_name("S");
  sub->add_flag("--ignore-eos", flags->ignore_eos, "Go on after the model's end token");
  add_sampling_flags(*sub, flags->sampling);
  add_json(*sub, flags->as_json, "Print one JSON object instead of the text");
  sub->add_flag("--trace", flags->trace,
                "Print layer - tensor - shape - dtype of one prefill and one decode step");
  sub->add_flag("--check-nan", flags->check_nan,
                "Look at every value; name the first NaN or infinity");
  add_check_pages(*sub, flags->check_pages);
  sub->add_flag("--no-kv-cache", flags->no_kv_cache,
                "Recompute everything in every step, and compare with the cache");
  sub->callback([sub, flags, &command] { command = [sub, flags] { return run(*sub, *flags); }; });
}

}  // namespace fathom::app

// Option tables. Ranges are checked while the command line is read, so a wrong one ends with
// status 2 before any file is opened.
#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <random>
#include <string_view>

#include "api/fast_receipt.h"
#include "base/error.h"
#include "base/log.h"
#include "command.h"
#include "kv/layout.h"

namespace fathom::app {

namespace {

// Reads all of `text` as a number; false when something is left over or out of range.
template <class T>
bool read_number(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

// Turns our own error into the message of a refused option.
template <class F>
std::string message_of(F&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::vector<int32_t> parse_ids(const std::string& text, const std::string& flag) {
  std::vector<int32_t> ids;
  std::string_view rest = text;
  while (true) {
    const size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    item.remove_prefix(std::min(item.find_first_not_of(" \n"), item.size()));
    item = item.substr(0, item.find_last_not_of(" \n") + 1);
    int32_t id = 0;
    if (!read_number(item, id) || id < 0) {
      throw UsageError(fmt::format("{}: '{}' is no token id; expected 1,2,3", flag, item));
    }
    ids.push_back(id);
    if (comma == std::string_view::npos) {
      return ids;
    }
    rest.remove_prefix(comma + 1);
  }
}

std::pair<int32_t, float> parse_bias(const std::string& text) {
  const size_t equals = text.find('=');
  int32_t id = 0;
  float value = 0;
  if (equals == std::string::npos || !read_number(std::string_view(text).substr(0, equals), id) ||
      !read_number(std::string_view(text).substr(equals + 1), value)) {
    throw UsageError(fmt::format("--logit-bias: '{}' is not ID=VALUE, as in 450=-2.5", text));
  }
  return {id, value};
}

// A number of the sampler chain: option, field, the step that reads it, help.
struct FloatFlag {
  const char* name;
  float sample::SamplingParams::*field;
  sample::Step step;
  const char* help;
};

constexpr FloatFlag kFloatFlags[] = {
    {"--temp,--temperature", &sample::SamplingParams::temperature, sample::Step::kTemperature,
     "Temperature; 0: always the likeliest token"},
    {"--top-p", &sample::SamplingParams::top_p, sample::Step::kTopP,
     "Keep the likeliest tokens that reach this probability together; 1: off"},
    {"--min-p", &sample::SamplingParams::min_p, sample::Step::kMinP,
     "Keep tokens at least this many times as likely as the likeliest; 0: off"},
    {"--repeat-penalty", &sample::SamplingParams::repeat_penalty, sample::Step::kPenalties,
     "Divide the logits of recent tokens by this; 1: off"},
    {"--presence-penalty", &sample::SamplingParams::presence_penalty, sample::Step::kPenalties,
     "Taken off the logits of recent tokens; 0: off"},
    {"--frequency-penalty", &sample::SamplingParams::frequency_penalty, sample::Step::kPenalties,
     "Taken off the logits of recent tokens for every occurrence; 0: off"},
};

struct IntFlag {
  const char* name;
  int sample::SamplingParams::*field;
  sample::Step step;
  const char* help;
};

constexpr IntFlag kIntFlags[] = {
    {"--top-k", &sample::SamplingParams::top_k, sample::Step::kTopK,
     "Keep this many of the likeliest tokens; 0: off"},
    {"--repeat-last-n", &sample::SamplingParams::penalty_window, sample::Step::kPenalties,
     "Tokens that count as recent, the prompt included; -1: all"},
};

// The first spelling of an option: "--temp" of "--temp,--temperature".
std::string first_name(std::string_view names) {
  return std::string(names.substr(0, names.find(',')));
}

}  // namespace

void add_model_path(CommandLine& app, std::string& path) {
  app.add_option("-m,--model", path, "A GGUF file or a Hugging Face folder")
      ->required()
      ->type_name("MODEL");
}

void add_threads(CommandLine& app, int& n_threads) {
  app.add_option("-t,--threads", n_threads, "Threads (default: the CPUs this process may use)")
      ->check(in_range(1, 1024))
      ->type_name("N");
}

void add_model_flags(CommandLine& app, ModelFlags& flags) {
  add_model_path(app, flags.path);
  add_threads(app, flags.n_threads);
  app.add_option("--compute", flags.compute,
                 "f32: the reference arithmetic, slow, weights as floats")
      ->check(is_one_of({"f32"}))
      ->type_name("f32");
  app.add_option(
         "--arithmetic", flags.arithmetic,
         "exact, or fast: prompts with int8 per 256, faster with AMX and less "
         "true; only for models that `fathom verify -m MODEL --arithmetic fast -f TEXT` has "
         "admitted")
      ->check(is_one_of({"exact", "fast"}))
      ->capture_default_str()
      ->type_name("exact|fast");
  add_weight_flags(app, flags.weights);
}

void add_cache_flags(CommandLine& app, ModelFlags& flags) {
  app.add_option("-c,--context", flags.context,
                 "Positions for prompt and answer (default: the model's, at most 4096)")
      ->check(in_range(int64_t{1}, int64_t{1} << 31))
      ->type_name("N");
  add_kv_type(app, flags.kv_type);
}

void add_kv_type(CommandLine& app, std::string& kv_type) {
  app.add_option("--kv-type", kv_type,
                 "Type of the KV cache (default: bf16, with --compute f32: f32); int8 takes half")
      ->check(
          [](const std::string& text) { return message_of([&] { kv::parse_page_type(text); }); })
      ->type_name("bf16|f32|int8");
}

void add_attention_flag(CommandLine& app, ModelFlags& flags) {
  app.add_option("--attention", flags.attention,
                 "flash (default), or eager: the plain formula, for comparison")
      ->check(is_one_of({"flash", "eager"}))
      ->type_name("KIND");
}

Option* add_ids(CommandLine& app, std::vector<int32_t>& ids, const std::string& name,
                const std::string& what) {
  return app
      .add_option_function(
          name, [&ids, name](const std::string& text) { ids = parse_ids(text, name); }, what)
      ->type_name("1,2,3");
}

std::string require_name(const std::string& name) {
  return name.empty() ? std::string("the file name is empty") : std::string();
}

std::string check_token_count(const std::string& text) {
  constexpr int64_t kMost = int64_t{1} << 31;
  int64_t n = 0;
  if (read_number(text, n) && (n == -1 || (n >= 1 && n <= kMost))) {
    return {};
  }
  return fmt::format(
      "'{}' is no number of tokens; expected 1 to {}, or -1: until the context is full", text,
      kMost);
}

void add_json(CommandLine& app, bool& as_json, const std::string& what) {
  app.add_flag("--json", as_json, what);
}

api::SessionOptions session_options(const ModelFlags& flags) {
  api::SessionOptions options;
  options.model_path = flags.path;
  options.n_threads = flags.n_threads;
  options.context = flags.context;
  options.compute_f32 = flags.compute == "f32";
  options.fast_prompts = flags.arithmetic == "fast";
  if (options.compute_f32 && options.fast_prompts) {
    throw UsageError("--arithmetic fast and --compute f32 cannot be given together");
  }
  set_weight_options(flags.weights, options);
  options.attention =
      flags.attention == "eager" ? ops::AttentionKind::kEager : ops::AttentionKind::kFlash;
  if (!flags.kv_type.empty()) {
    options.page_type = kv::parse_page_type(flags.kv_type);
  }
  return options;
}

void require_arithmetic(const api::SessionOptions& options) {
  if (!options.fast_prompts) {
    return;
  }
  const auto receipt =
      api::read_fast_receipt(api::fast_receipt_folder(), api::fast_model_id(options));
  api::require_fast_receipt(options.model_path, receipt);
  note(
      fmt::format("admitted by `fathom verify`: mean KL divergence from f32 {:.5f} over {} tokens "
                  "(at most {})",
                  receipt->divergence, receipt->n_tokens, api::kMostFastDivergence));
}

std::string arithmetic_name(const ModelFlags& flags) {
  return flags.compute == "f32" ? "f32" : flags.arithmetic;
}

void add_sampling_flags(CommandLine& app, SamplingFlags& flags) {
  sample::SamplingParams& params = flags.params;
  for (const FloatFlag& flag : kFloatFlags) {
    app.add_option(flag.name, params.*flag.field, flag.help)
        ->capture_default_str()
        ->type_name("X")
        ->group("Sampling");
  }
  for (const IntFlag& flag : kIntFlags) {
    app.add_option(flag.name, params.*flag.field, flag.help)
        ->capture_default_str()
        ->type_name("N")
        ->group("Sampling");
  }
  app.add_option_function(
         "--samplers",
         [&params](const std::string& list) { params.chain = sample::parse_chain(list); },
         "The chain, in order: names separated by ; or , "
         "(default: penalties;top_k;top_p;min_p;temperature)")
      ->check(
          [](const std::string& list) { return message_of([&] { sample::parse_chain(list); }); })
      ->type_name("LIST")
      ->group("Sampling");
  app.add_list_function(
         "--logit-bias",
         [&params](const std::vector<std::string>& items) {
           std::transform(items.begin(), items.end(), std::back_inserter(params.logit_bias),
                          parse_bias);
         },
         "Added to the logit of a token; may be given several times")
      ->one_per_use()
      ->type_name("ID=V")
      ->group("Sampling");
  app.add_option("--logprobs", params.n_logprobs,
                 "Log-probabilities of each token and of the K best (raw distribution)")
      ->check(in_range(0, std::numeric_limits<int>::max()))
      ->type_name("K")
      ->group("Sampling");
  app.add_option_function(
         "--seed",
         [&params](const std::string& text) {
           if (!read_number(text, params.seed)) {  // a sign would wrap around
             throw UsageError(fmt::format("--seed: '{}' is not a number from 0 up", text));
           }
         },
         "Seed of the draws (default: a new one, reported)")
      ->type_name("N")
      ->group("Sampling");
}

void take_model_sampling(const CommandLine& app, const api::ModelSampling& model,
                         SamplingFlags& flags) {
  const auto take = [&](const char* option, const auto& recommended, auto& field) {
    if (recommended && app.count(option) == 0) {
      field = *recommended;
    }
  };
  take("--temp", model.temperature, flags.params.temperature);
  take("--top-k", model.top_k, flags.params.top_k);
  take("--top-p", model.top_p, flags.params.top_p);
  take("--min-p", model.min_p, flags.params.min_p);
  take("--repeat-penalty", model.repeat_penalty, flags.params.repeat_penalty);
}

void settle_sampling(const CommandLine& app, SamplingFlags& flags) {
  const auto require_step = [&](std::string_view names, sample::Step step) {
    const std::string name = first_name(names);
    const auto& chain = flags.params.chain;
    if (app.count(name) > 0 && std::find(chain.begin(), chain.end(), step) == chain.end()) {
      throw UsageError(fmt::format("{} has no effect: the chain of --samplers has no step '{}'",
                                   name, sample::name_of(step)));
    }
  };
  for (const FloatFlag& flag : kFloatFlags) {
    const bool is_greedy = flag.step == sample::Step::kTemperature && flags.params.temperature == 0;
    if (!is_greedy) {  // temperature 0 is greedy whatever the chain says
      require_step(flag.name, flag.step);
    }
  }
  for (const IntFlag& flag : kIntFlags) {
    require_step(flag.name, flag.step);
  }
  flags.has_seed = app.count("--seed") > 0;
  if (!flags.has_seed) {
    std::random_device device;
    flags.params.seed = static_cast<uint64_t>(device()) << 21 ^ device();  // 53 bits: exact in JSON
  }
  try {  // ids and counts that need the vocabulary are checked again when it is known
    sample::check(flags.params, std::numeric_limits<int32_t>::max());
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace fathom::app

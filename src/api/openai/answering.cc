// Reads the request, makes its prompts, gives the engine one job for each.
// Called by api/openai/handler on the reader's thread. Read next: api/openai/answer.cc.
#include "api/openai/answering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <utility>

#include "base/error.h"

namespace fathom::api::openai {

namespace {

constexpr uint64_t kSeedBits = 53;  // seeds that every JSON reader keeps exactly

uint64_t random_bits() {
  std::random_device device;
  return uint64_t{device()} << 32U | device();
}

int64_t draw_seed() {
  return static_cast<int64_t>(random_bits() >> (64 - kSeedBits));
}

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Prompts share pages with those of the same key; of others only where a salt asks for it.
std::string salt_of(const AnswerRequest& asked, const http::Request& request) {
  return asked.cache_salt.empty() ? "key:" + request.key : "salt:" + asked.cache_salt;
}

// Ids that the model does not have are refused by the name of their field.
void check_ids(const PromptMaker& prompts, const AnswerRequest& asked) {
  std::vector<int32_t> biased;
  for (const auto& [id, bias] : asked.sampling.logit_bias) {
    biased.push_back(id);
  }
  prompts.check_ids(biased, "logit_bias");
  prompts.check_ids(asked.sampling.allowed_ids, "allowed_token_ids");
  prompts.check_ids(asked.stop_ids, "stop_token_ids");
}

// All of the engine's request but the prompt.
engine::Request engine_request(const Answering& shared, const AnswerRequest& asked,
                               const http::Request& request, int64_t seed) {
  engine::Request made;
  made.sampling = asked.sampling;
  made.sampling.seed = static_cast<uint64_t>(seed);
  made.sampling.bad_words = shared.prompts->ids_of_words(asked.bad_words);
  made.max_tokens = asked.max_tokens == 0 ? 1 : asked.max_tokens;
  made.end_tokens = asked.stop_ids;
  if (!asked.ignore_eos) {
    made.end_tokens.insert(made.end_tokens.end(), shared.options->end_tokens.begin(),
                           shared.options->end_tokens.end());
  }
  made.cache_salt = salt_of(asked, request);
  made.priority = static_cast<int>(asked.priority);
  made.deadline_s = asked.deadline_s;
  made.queue_timeout_s = asked.queue_timeout_s;
  made.min_tokens = asked.min_tokens;
  made.context_shift = asked.context_shift;
  made.n_keep = asked.n_keep;
  made.n_prompt_logprobs =
      std::max(asked.n_prompt_logprobs, asked.echo ? asked.sampling.n_logprobs : -1);
  return made;
}

AnswerFacts answer_facts(const Answering& shared, const AnswerRequest& asked,
                         const std::vector<MadePrompt>& prompts, int64_t seed) {
  AnswerFacts facts;
  facts.is_chat = asked.is_chat;
  facts.is_stream = asked.is_stream;
  facts.id = fmt::format("{}-{:016x}{:016x}", asked.is_chat ? "chatcmpl" : "cmpl", random_bits(),
                         random_bits());
  facts.created = unix_seconds();
  facts.model = asked.model.empty() ? shared.options->model_names.front() : asked.model;
  facts.fingerprint = shared.options->fingerprint;
  facts.seed = seed;
  facts.n_logprobs = asked.sampling.n_logprobs;
  facts.wants_prompt_logprobs = asked.n_prompt_logprobs >= 0;
  facts.has_echo = asked.echo;
  facts.return_ids = asked.return_ids;
  facts.include_usage = asked.include_usage;
  facts.continues_text = !asked.is_chat || asked.conversation->continue_final_message;
  facts.n_choices = asked.n_choices;
  for (const MadePrompt& prompt : prompts) {
    facts.prompts.push_back({prompt.ids, prompt.text, prompt.n_unkept, prompt.added_bos});
  }
  return facts;
}

ChoiceOptions choice_options(const AnswerRequest& asked, const AnswerFacts& facts) {
  ChoiceOptions options;
  options.stops = asked.stops;
  options.stop_ids = asked.stop_ids;
  options.min_tokens = asked.min_tokens;
  options.include_stop = asked.include_stop;
  options.keep_tokens = facts.n_logprobs >= 0 || facts.return_ids;
  options.is_silent = asked.max_tokens == 0;
  options.continues_text = facts.continues_text;
  return options;
}

std::string_view field_of_prompt(Route route) {
  return route == kChat ? "messages" : "prompt";
}

void check_places(const Answering& shared, const AnswerRequest& asked, size_t n_prompts) {
  const auto n = static_cast<int64_t>(n_prompts) * asked.n_choices;
  if (n > shared.engine->max_open()) {
    throw RequestError(Cause::kBadRequest,
                       fmt::format("{} prompts with n = {} are {} choices, the server takes {} at "
                                   "once; ask for fewer",
                                   n_prompts, asked.n_choices, n, shared.engine->max_open()),
                       "n");
  }
}

// The engine's jobs; the answer's sinks are in them.
std::vector<EngineJob> make_jobs(const Answering& shared, const engine::Request& common,
                                 std::vector<MadePrompt> prompts, Route route) {
  std::vector<EngineJob> jobs;
  for (MadePrompt& prompt : prompts) {
    EngineJob& job = jobs.emplace_back();
    job.request = common;
    job.request.prompt = std::move(prompt.ids);
    try {
      shared.engine->check(job.request);
    } catch (const Error& error) {
      const Cause cause = cause_of(error);
      throw RequestError(cause, error.what(),
                         cause == Cause::kTooLong ? std::string(field_of_prompt(route)) : "");
    }
  }
  return jobs;
}

http::Headers answer_headers(const AnswerRequest& asked) {
  http::Headers headers;
  if (!asked.ignored.empty()) {
    headers.emplace_back("Fathom-Ignored", fmt::format("{}", fmt::join(asked.ignored, ", ")));
  }
  return headers;
}

// When a request that waits for its turn is told that its time is over, and why.
struct Patience {
  engine::Clock::time_point until = engine::Clock::time_point::max();
  Cause cause = Cause::kQueueTimeout;
};

Patience patience_of(const AnswerRequest& asked, engine::Clock::time_point arrived) {
  Patience patience;
  const auto limit = [&](double seconds, Cause cause) {
    const auto until = arrived + std::chrono::duration_cast<engine::Clock::duration>(
                                     std::chrono::duration<double>(seconds));
    if (seconds > 0 && until < patience.until) {
      patience = {until, cause};
    }
  };
  limit(asked.queue_timeout_s, Cause::kQueueTimeout);
  limit(asked.deadline_s, Cause::kDeadline);
  return patience;
}

// The engine counts from the submission, the client from the arrival.
void take_off_waiting(engine::Request& request, engine::Clock::time_point arrived) {
  constexpr double kLeastSeconds = 1e-9;  // 0 would be no limit
  const double waited = std::chrono::duration<double>(engine::Clock::now() - arrived).count();
  for (double* limit : {&request.deadline_s, &request.queue_timeout_s}) {
    *limit = *limit > 0 ? std::max(*limit - waited, kLeastSeconds) : 0;
  }
}

// Gives the engine a request whose turn it is. Any thread.
void submit(EngineThread& engine, std::vector<EngineJob> jobs, Answer& answer,
            engine::Clock::time_point arrived) {
  if (!answer.take_turn()) {
    return;
  }
  try {
    for (EngineJob& job : jobs) {
      take_off_waiting(job.request, arrived);
    }
    if (const std::optional<Ticket> ticket = engine.try_submit(std::move(jobs))) {
      answer.begin([&engine, ticket = *ticket] { engine.cancel(ticket); });
    } else if (engine.pulse().has_failed) {
      answer.refuse(Cause::kInternal, "the engine has failed; the server has to be restarted");
    } else {
      answer.refuse(Cause::kQueueFull, queue_full_message(engine));
    }
  } catch (const std::exception& error) {  // the jobs were checked: something of ours
    answer.refuse(Cause::kInternal, error.what());
  }
}

}  // namespace

std::string queue_full_message(const EngineThread& engine) {
  return fmt::format("{} requests run or wait, the limit is {}; try again later", engine.n_open(),
                     engine.max_open());
}

void check_model(const HandlerOptions& options, const std::string& name) {
  if (name.empty() || std::ranges::find(options.model_names, name) != options.model_names.end()) {
    return;
  }
  throw RequestError(Cause::kUnknownModel,
                     fmt::format("model '{}' is not served here; there is: {}", name,
                                 fmt::join(options.model_names, ", ")),
                     "model");
}

void start_answer(const Answering& shared, Route route, const http::Request& request,
                  const std::shared_ptr<Client>& client, engine::Clock::time_point arrived) {
  const AnswerRequest asked = parse_answer_request(request.body, route, shared.options->defaults);
  check_model(*shared.options, asked.model);
  check_ids(*shared.prompts, asked);
  std::vector<MadePrompt> prompts = shared.prompts->make(asked);
  check_places(shared, asked, prompts.size());
  const int64_t seed = asked.seed ? *asked.seed : draw_seed();
  AnswerFacts facts = answer_facts(shared, asked, prompts, seed);
  const ChoiceOptions options = choice_options(asked, facts);
  std::vector<EngineJob> jobs =
      make_jobs(shared, engine_request(shared, asked, request, seed), std::move(prompts), route);
  Answer::Parts parts;
  parts.tokenizer = &shared.prompts->tokenizer();
  parts.writer = shared.writer;
  parts.records = shared.records;
  parts.client = client;
  parts.headers = answer_headers(asked);
  parts.record.id = request.id;
  parts.record.key = request.key;
  parts.record.route = path_of(route);
  parts.record.is_stream = asked.is_stream;
  parts.arrived = arrived;
  const auto answer = std::make_shared<Answer>(std::move(parts), std::move(facts));
  size_t choice = 0;
  for (EngineJob& job : jobs) {
    for (int64_t i = 0; i < asked.n_choices; ++i) {
      job.sinks.push_back(answer->make_sink(choice++, options));
    }
  }
  const Patience patience = patience_of(asked, arrived);
  const auto shared_jobs = std::make_shared<std::vector<EngineJob>>(std::move(jobs));
  answer->watch_client();
  const bool is_its_turn = client->responder().when_turn(
      {.start = [engine = shared.engine, shared_jobs, answer,
                 arrived] { submit(*engine, std::move(*shared_jobs), *answer, arrived); },
       .until = patience.until,
       .late =
           [answer, cause = patience.cause] {
             if (answer->take_turn()) {
               answer->refuse(cause);
             }
           }});
  if (!is_its_turn) {
    answer->begin_waiting();
  }
}

}  // namespace fathom::api::openai

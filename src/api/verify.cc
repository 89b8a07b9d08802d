// Every way is an engine of its own over the session's model and pages; only threads and
// instruction sets need a session of their own.
#include "api/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "engine/engine.h"
#include "kernels/dispatch.h"

namespace fathom::api {

namespace {

constexpr int kLogprobs = 5;
constexpr int64_t kMaxSequences = 8;

// What a request gave, to the bit.
struct Answer {
  std::vector<int32_t> ids;
  std::vector<uint32_t> logprobs;  // of each token and of the best beside it

  bool operator==(const Answer&) const = default;
};

class AnswerSink final : public engine::TextSink {
 public:
  bool on_token(const engine::TokenEvent& event) override {
    answer.ids.push_back(event.id);
    answer.logprobs.push_back(std::bit_cast<uint32_t>(event.sampled->logprob));
    for (const sample::TokenLogprob& best : event.sampled->best) {
      answer.logprobs.push_back(std::bit_cast<uint32_t>(best.logprob));
    }
    return true;
  }

  void on_finish(engine::FinishReason reason, const engine::Usage& use,
                 std::string_view message) override {
    usage = use;
    if (reason == engine::FinishReason::kError) {
      failure = message;
    }
  }

  Answer answer;
  engine::Usage usage;
  std::string failure;
};

// How one way computes.
struct Way {
  std::string name;
  int64_t chunk = 512;
  bool is_together = false;
  bool prefix_cache = false;  // the prompts run twice, the second time is looked at
  int64_t preempt_every = 0;  // steps
};

std::vector<engine::Request> make_requests(const VerifyOptions& options) {
  std::vector<engine::Request> requests;
  for (const auto& prompt : options.prompts) {
    engine::Request request;
    request.prompt = prompt;
    request.max_tokens = options.max_tokens;
    request.sampling.temperature = requests.size() % 2 == 0 ? 0.0F : 1.0F;
    request.sampling.top_k = 0;
    request.sampling.seed = 1000 + requests.size();
    request.sampling.n_logprobs = kLogprobs;
    requests.push_back(std::move(request));
  }
  return requests;
}

class Runner {
 public:
  Runner(Session& session, const VerifyOptions& options)
      : session_(&session),
        requests_(make_requests(options)),
        arithmetic_(arithmetic_of(options.session)) {}

  // Runs all requests; fills in what `result` says of pre-emptions, cached tokens and time.
  std::vector<Answer> run(const Way& way, VerifyWay& result) {
    const auto start = std::chrono::steady_clock::now();
    const engine::EngineOptions options = {.max_batched_tokens = way.chunk,
                                           .max_sequences = kMaxSequences,
                                           .context = session_->context(),
                                           .prefix_cache = way.prefix_cache,
                                           .arithmetic = arithmetic_,
                                           .preempt_every = way.preempt_every};
    const int64_t n_vocab = session_->load_plan().config.n_vocab;
    MemoryPool scratch("logits", engine::Engine::scratch_bytes(n_vocab, options));
    engine::Engine engine(session_->model(), session_->exec(), session_->pages(), scratch, options);
    std::vector<AnswerSink> sinks(requests_.size());
    if (way.prefix_cache) {
      answer_all(engine, way, sinks);
      sinks = std::vector<AnswerSink>(requests_.size());
    }
    answer_all(engine, way, sinks);
    std::vector<Answer> answers;
    for (AnswerSink& sink : sinks) {
      if (!sink.failure.empty()) {
        fail(ErrorCode::kInternal, sink.failure);
      }
      result.cached_tokens += sink.usage.cached_tokens;
      answers.push_back(std::move(sink.answer));
    }
    result.n_preemptions = engine.stats().n_preemptions;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return answers;
  }

 private:
  void answer_all(engine::Engine& engine, const Way& way, std::vector<AnswerSink>& sinks) {
    for (size_t i = 0; i < requests_.size(); ++i) {
      engine.submit(requests_[i], sinks[i]);
      while (!way.is_together && engine.step()) {
      }
    }
    while (engine.step()) {
    }
  }

  Session* session_;
  std::vector<engine::Request> requests_;
  uint8_t arithmetic_;
};

std::string describe_difference(size_t prompt, const Answer& expected, const Answer& found) {
  const auto ids = std::ranges::mismatch(expected.ids, found.ids);
  const auto token = std::distance(expected.ids.begin(), ids.in1);
  if (ids.in1 != expected.ids.end() && ids.in2 != found.ids.end()) {
    return fmt::format("prompt {}, token {}: id {} instead of {}", prompt, token, *ids.in2,
                       *ids.in1);
  }
  const auto bits = std::ranges::mismatch(expected.logprobs, found.logprobs);
  return fmt::format("prompt {}, token {}: the ids are equal, a log probability is not", prompt,
                     std::distance(expected.logprobs.begin(), bits.in1) / (1 + kLogprobs));
}

void compare(const std::vector<Answer>& expected, const std::vector<Answer>& found,
             VerifyWay& result) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == found[i]) {
      ++result.n_equal;
      continue;
    }
    ++result.n_different;
    if (result.first_difference.empty()) {
      result.first_difference = describe_difference(i, expected[i], found[i]);
    }
  }
}

// FNV-1a over ids and log probabilities.
uint64_t hash_of(const std::vector<Answer>& answers) {
  uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](uint32_t value) { hash = (hash ^ value) * 0x100000001b3U; };
  for (const Answer& answer : answers) {
    std::ranges::for_each(answer.ids, [&](int32_t id) { add(static_cast<uint32_t>(id)); });
    std::ranges::for_each(answer.logprobs, add);
  }
  return hash;
}

// Ways that need a session of their own.
std::vector<std::pair<std::string, SessionOptions>> other_sessions(
    const SessionOptions& base, int n_threads, const kernels::Dispatch& dispatch) {
  std::vector<std::pair<std::string, SessionOptions>> sessions;
  for (const int threads : {1, 2, 3}) {
    if (threads != n_threads) {
      sessions.emplace_back(fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"), base);
      sessions.back().second.n_threads = threads;
    }
  }
  for (const Isa other : dispatch.usable) {
    const bool has_permission = other != Isa::kAmx || request_tiles();
    if (other != dispatch.isa && has_permission) {
      sessions.emplace_back(std::string(name_of(other)), base);
      sessions.back().second.isa_cap = other;
    }
  }
  return sessions;
}

}  // namespace

bool VerifyReport::is_equal() const {
  return std::ranges::all_of(ways, [](const VerifyWay& way) { return way.n_different == 0; });
}

std::vector<std::vector<int32_t>> verify_prompts(int64_t n_vocab, int64_t context,
                                                 int64_t max_tokens) {
  std::vector<std::vector<int32_t>> prompts;
  const int64_t most = std::max<int64_t>(1, context - max_tokens);
  for (const int64_t wanted : {1, 7, 64, 65, 150, 200, 300}) {
    std::vector<int32_t> prompt;
    uint64_t state = wanted > 100 ? 5 : static_cast<uint64_t>(wanted);  // long ones begin alike
    for (int64_t i = 0; i < std::min(wanted, most); ++i) {
      const bool is_own = wanted > 100 && i == 140;
      state = is_own ? static_cast<uint64_t>(wanted) : state;
      state = state * 6364136223846793005U + 1442695040888963407U;
      prompt.push_back(static_cast<int32_t>((state >> 33) %
                                            static_cast<uint64_t>(std::max<int64_t>(1, n_vocab))));
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

VerifyReport verify(const VerifyOptions& given) {
  VerifyOptions options = given;
  options.session.max_sequences = kMaxSequences;
  options.session.use_kv_cache = true;
  options.session.prefix_cache = false;
  VerifyReport report;
  const auto begin = [&](const std::string& name) {
    if (options.on_way) {
      options.on_way(name);
    }
    VerifyWay way;
    way.name = name;
    return way;
  };
  VerifyWay reference = begin("alone");
  std::vector<Answer> expected;
  std::vector<std::pair<std::string, SessionOptions>> others;
  {
    const auto session = Session::open(options.session);
    if (options.prompts.empty()) {
      options.prompts = verify_prompts(session->load_plan().config.n_vocab, session->context(),
                                       options.max_tokens);
    }
    Runner runner(*session, options);
    expected = runner.run({.name = "alone"}, reference);
    report.isa = name_of(session->dispatch().isa);
    report.n_threads = session->threads().n_threads();
    others = other_sessions(options.session, report.n_threads, session->dispatch());
    const Way ways[] = {
        {.name = "the same again"},
        {.name = "all in one batch", .is_together = true},
        {.name = "chunks of 1", .chunk = 1},
        {.name = "batch in chunks of 7", .chunk = 7, .is_together = true},
        {.name = "batch in chunks of 64", .chunk = 64, .is_together = true},
        {.name = "cached beginnings", .prefix_cache = true},
        {.name = "cached beginnings in a batch", .is_together = true, .prefix_cache = true},
        {.name = "pre-emptions", .is_together = true, .preempt_every = 2}};
    for (const Way& way : ways) {
      VerifyWay result = begin(way.name);
      compare(expected, runner.run(way, result), result);
      report.ways.push_back(std::move(result));
    }
  }
  for (const auto& [name, session_options] : others) {
    VerifyWay result = begin(name);
    const auto session = Session::open(session_options);
    compare(expected, Runner(*session, options).run({.name = name, .is_together = true}, result),
            result);
    report.ways.push_back(std::move(result));
  }
  report.n_prompts = std::ssize(expected);
  for (const Answer& answer : expected) {
    report.n_tokens += std::ssize(answer.ids);
  }
  report.bits = hash_of(expected);
  return report;
}

}  // namespace fathom::api

// 10,000 random requests against an engine over a toy model, without threads or sockets, with a
// recount of every page after every step; and five planted faults, each of which must be found.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "src/engine/page_recount.h"
#include "src/engine/toy_model.h"

namespace fathom::engine::test {
namespace {

enum class Fault { kNone, kLostFree, kLostReference, kDoubleOwner, kWrongHash, kDroppedEvent };

// A pool that goes wrong once, at the n-th chance.
class FaultyPool final : public kv::PagePool {
 public:
  using kv::PagePool::PagePool;

  int32_t allocate(const kv::PageHeader& header, kv::PageOwner owner) override {
    if (fault == Fault::kDoubleOwner && last_ >= 0 && last_owner_ != owner &&
        n_owners(last_) == 1 && is_due()) {
      return last_;  // somebody has it already
    }
    last_ = kv::PagePool::allocate(header, owner);
    last_owner_ = owner;
    return last_;
  }

  void share(int32_t page, kv::PageOwner owner) override {
    if (fault == Fault::kLostReference && owner != kv::kCacheOwner && stays(owner) && is_due()) {
      return;
    }
    kv::PagePool::share(page, owner);
  }

  void release(int32_t page, kv::PageOwner owner) override {
    if (is_over || (fault == Fault::kLostFree && n_owners(page) == 1 && is_due())) {
      return;
    }
    kv::PagePool::release(page, owner);
  }

  Fault fault = Fault::kNone;
  int chances = 20;
  // Whether a request outlives its step: the pool itself stops the program when a page goes back
  // that the cache still holds, and the recount is to find it before.
  std::function<bool(kv::PageOwner owner)> stays;
  bool is_over = false;  // the account is wrong: nothing more is booked

 private:
  bool is_due() { return --chances == 0; }

  int32_t last_ = -1;
  kv::PageOwner last_owner_ = 0;
};

struct Life {
  Request request;
  ToySink sink;
  Rank rank;  // as it must be
  bool is_follower = false;
  bool may_be_cut = false;  // a deadline, a time-out or a cancel may have ended it
};

// Hands events on, but for one.
class LossySink final : public TextSink {
 public:
  LossySink(TextSink& to, int& chances) : to_(&to), chances_(&chances) {}

  void on_prompt(std::span<const sample::Sampled> logprobs) override { to_->on_prompt(logprobs); }

  bool on_token(const TokenEvent& event) override {
    return *chances_ > 0 && --*chances_ == 0 ? true : to_->on_token(event);
  }

  void on_finish(FinishReason why, const Usage& use, std::string_view text) override {
    to_->on_finish(why, use, text);
  }

 private:
  TextSink* to_;
  int* chances_;
};

struct Setting {
  int64_t n_requests = 1000;
  int64_t n_pages = 14;
  int64_t max_batched_tokens = 48;
  int64_t max_sequences = 5;
  bool prefix_cache = true;
  uint32_t seed = 1;
};

class Simulation {
 public:
  Simulation(const Setting& setting, Fault fault)
      : setting_(setting),
        fault_(fault),
        random_(setting.seed),
        memory_("kv", static_cast<size_t>(kv::pool_bytes(kToyShape, setting.n_pages))),
        scratch_("scratch", 1U << 20U),
        pages_(memory_, kToyShape, setting.n_pages),
        model_(pages_, {.max_tokens = setting.max_batched_tokens, .max_logits = 9}),
        engine_(model_, pages_, scratch_, options()),
        recount_(engine_, pages_) {
    pages_.fault = fault;
    pages_.stays = [this](kv::PageOwner owner) {
      const auto life = alive_.find(owner);
      return life != alive_.end() && life->second->request.max_tokens > 5;
    };
  }

  ~Simulation() { pages_.is_over = true; }

  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // What went wrong, or nothing.
  std::optional<std::string> run() {
    int64_t n_left = setting_.n_requests;
    bool goes_on = true;
    while (n_left > 0 || goes_on) {
      if (n_left > 0 && alive_.size() < kMostAlive && pick(3) == 0) {
        n_left -= arrive();
      }
      if (pick(40) == 0 && !alive_.empty()) {
        auto life = alive_.begin();
        std::advance(life, pick(static_cast<uint32_t>(alive_.size())));
        life->second->may_be_cut = true;
        engine_.cancel(life->first);
      }
      time_ += std::chrono::milliseconds(1);
      if (auto wrong = step(goes_on)) {
        return wrong;
      }
      if (++n_steps_ > setting_.n_requests * 400) {
        return "requests that never end";
      }
    }
    return alive_.empty() ? std::nullopt
                          : std::optional<std::string>("a request that nobody ended");
  }

  [[nodiscard]] const Engine& engine() const { return engine_; }

  [[nodiscard]] int64_t n_pages_free() const { return pages_.n_free() + pages_.n_idle(); }

  std::map<FinishReason, int64_t> n_ended;
  int64_t n_cached = 0;

 private:
  uint32_t pick(uint32_t n) { return random_() % n; }

  EngineOptions options() {
    EngineOptions options;
    options.max_batched_tokens = setting_.max_batched_tokens;
    options.max_sequences = setting_.max_sequences;
    options.context = 600;
    options.prefix_cache = setting_.prefix_cache;
    options.max_logits = 9;
    options.priority_aging = kAging;
    options.now = [this] { return time_; };
    if (fault_ == Fault::kWrongHash) {  // the hash of a page differs from one time to the next
      options.page_hash = [n = 0](uint64_t before, std::span<const int32_t> tokens) mutable {
        return kv::hash_page(before, tokens) + (++n % 20 == 0 ? 1 : 0);
      };
    }
    return options;
  }

  Request make_request() {
    Request request;
    const auto n_beginning = static_cast<int64_t>(pick(5)) * 50;
    const auto beginning = static_cast<int32_t>(pick(4));
    request = toy_request(n_beginning + 1, beginning, 0);
    const Request own = toy_request(pick(4) == 0 ? pick(200) : pick(20),
                                    static_cast<int32_t>(random_() % 100'000), 0);
    request.prompt.insert(request.prompt.end(), own.prompt.begin(), own.prompt.end());
    request.max_tokens = 1 + (pick(5) == 0 ? pick(150) : pick(20));
    request.sampling.seed = random_();
    request.priority = static_cast<int>(pick(4));
    request.cache_salt = pick(3) == 0 ? "other" : "";
    request.n_prompt_logprobs = pick(20) == 0 ? 0 : -1;
    if (pick(25) == 0) {
      request.deadline_s = 0.001 * (1 + pick(100));
    }
    if (pick(25) == 0) {
      request.queue_timeout_s = 0.001 * (1 + pick(50));
    }
    return request;
  }

  // One request, or one of several choices; how many.
  int64_t arrive() {
    const Request request = make_request();
    // With a wrong hash the pool itself would stop the program: choices offer one page twice.
    const size_t n = fault_ != Fault::kWrongHash && pick(8) == 0 ? 2 + pick(3) : 1;
    std::vector<std::unique_ptr<Life>> lives;
    std::vector<TextSink*> sinks;
    for (size_t i = 0; i < n; ++i) {
      lives.push_back(std::make_unique<Life>());
      lives.back()->request = request;
      lives.back()->request.choice = static_cast<uint32_t>(i);
      lives.back()->is_follower = i > 0;
      lives.back()->may_be_cut = request.deadline_s > 0 || request.queue_timeout_s > 0;
      sinks.push_back(&lives.back()->sink);
      if (fault_ == Fault::kDroppedEvent) {
        lossy_.push_back(std::make_unique<LossySink>(*sinks.back(), chances_));
        sinks.back() = lossy_.back().get();
      }
    }
    const int64_t now = engine_.stats().n_steps;
    const auto ids = engine_.submit_choices(request, sinks);
    for (size_t i = 0; i < n; ++i) {
      lives[i]->rank = rank_of(request.priority, now, kAging, ids[i]);
      alive_[ids[i]] = std::move(lives[i]);
    }
    return static_cast<int64_t>(n);
  }

  std::optional<std::string> step(bool& goes_on) {
    const auto before = state();
    const int64_t n_rows = engine_.n_rows_computed();
    goes_on = engine_.step();
    if (auto wrong = recount_.check()) {
      return wrong;
    }
    const auto after = state();
    if (auto wrong = check_order(before, after)) {
      return wrong;
    }
    if (auto wrong = check_progress(after, engine_.n_rows_computed() > n_rows)) {
      return wrong;
    }
    remember_cached();
    return check_ends(after);
  }

  struct State {
    bool is_running = false;
    int64_t n_tokens = 0;
    int64_t num_computed = 0;
  };

  std::map<RequestId, State> state() const {
    std::map<RequestId, State> states;
    for (const SequenceView& view : engine_.sequences()) {
      states[view.id] = {view.is_running, std::ssize(view.tokens), view.num_computed};
    }
    return states;
  }

  // Nobody is admitted before one that comes earlier by rank and still waits; and who is admitted
  // has all that the cache had of it.
  std::optional<std::string> check_order(const std::map<RequestId, State>& before,
                                         const std::map<RequestId, State>& after) {
    std::optional<Rank> first_waiting;
    for (const auto& [id, now] : after) {
      const auto was = before.find(id);
      const bool waited = was != before.end() && !was->second.is_running;
      if (!now.is_running && waited && !alive_.at(id)->is_follower) {
        const Rank rank = alive_.at(id)->rank;
        first_waiting = first_waiting ? std::min(*first_waiting, rank) : rank;
      }
    }
    for (const auto& [id, now] : after) {
      const auto was = before.find(id);
      const Life& life = *alive_.at(id);
      if (!now.is_running || was == before.end() || was->second.is_running || life.is_follower) {
        continue;
      }
      if (first_waiting && *first_waiting < life.rank) {
        return fmt::format("request {} overtook", id);
      }
      const auto cached = cached_.find(id);
      if (cached != cached_.end() && now.num_computed < cached->second) {
        return fmt::format("request {} began with {} positions, the cache had {}", id,
                           now.num_computed, cached->second);
      }
    }
    return std::nullopt;
  }

  // What the cache has now of those that wait: pages go only after the next admissions.
  void remember_cached() {
    cached_.clear();
    for (const SequenceView& view : engine_.sequences()) {
      const Life& life = *alive_.at(view.id);
      if (!view.is_running && life.request.n_prompt_logprobs < 0) {
        cached_[view.id] = recount_.cached_of(life.request.cache_salt, view.tokens);
      }
    }
  }

  // The bound of starvation: the first by rank of those that run goes on at least every few steps,
  // until it ends; and while anything runs, steps have rows.
  std::optional<std::string> check_progress(const std::map<RequestId, State>& after,
                                            bool had_rows) {
    RequestId first = 0;
    for (const auto& [id, now] : after) {
      if (now.is_running && (first == 0 || alive_.at(id)->rank < alive_.at(first)->rank)) {
        first = id;
      }
    }
    const int64_t progress =
        first == 0 ? 0 : after.at(first).n_tokens * 1000 + after.at(first).num_computed;
    if (first != first_ || progress != first_progress_) {
      n_stalled_ = 0;
    } else if (first != 0 && ++n_stalled_ > kMostStalled) {
      return fmt::format("request {} comes first and has not gone on for {} steps", first,
                         n_stalled_);
    }
    first_ = first;
    first_progress_ = progress;
    n_idle_ = had_rows || after.empty() ? 0 : n_idle_ + 1;
    return n_idle_ > 2 ? std::optional<std::string>("steps without rows") : std::nullopt;
  }

  // Whoever is alive is in the engine; whoever has ended got all that it should, once.
  std::optional<std::string> check_ends(const std::map<RequestId, State>& after) {
    for (const auto& [id, state] : after) {
      if (!alive_.contains(id) || alive_.at(id)->sink.n_finished > 0) {
        return fmt::format("request {} has ended and is still there", id);
      }
    }
    for (auto life = alive_.begin(); life != alive_.end();) {
      const ToySink& sink = life->second->sink;
      if (sink.n_finished == 0 && !after.contains(life->first)) {
        return fmt::format("request {} is gone without an end", life->first);
      }
      if (sink.n_finished == 0) {
        ++life;
        continue;
      }
      if (auto wrong = check_answer(life->first, *life->second)) {
        return wrong;
      }
      ++n_ended[sink.reason];
      n_cached += sink.usage.cached_tokens;
      life = alive_.erase(life);
    }
    return std::nullopt;
  }

  static std::optional<std::string> check_answer(RequestId id, const Life& life) {
    const ToySink& sink = life.sink;
    const bool is_cut = sink.reason != FinishReason::kLength;
    if (sink.n_finished != 1 || (is_cut && !life.may_be_cut)) {
      return fmt::format("request {} ended {} times, as {}", id, sink.n_finished,
                         name_of(sink.reason));
    }
    if (std::ssize(sink.ids) != sink.usage.generated_tokens ||
        (!is_cut && std::ssize(sink.ids) != life.request.max_tokens)) {
      return fmt::format("request {} got {} tokens of {}", id, sink.ids.size(),
                         sink.usage.generated_tokens);
    }
    const bool has_prompt = life.request.n_prompt_logprobs >= 0 && !sink.ids.empty();
    if (sink.n_prompts != (has_prompt ? 1 : 0)) {
      return fmt::format("request {} got {} log probabilities of its prompt", id, sink.n_prompts);
    }
    if (sink.ids != toy_answer(life.request, std::ssize(sink.ids))) {
      return fmt::format("request {} got another answer than alone", id);
    }
    return std::nullopt;
  }

  static constexpr int64_t kAging = 30;
  static constexpr size_t kMostAlive = 16;
  // Turns of the seats under the smallest budget, and the longest wait for a common beginning.
  static constexpr int64_t kMostStalled = 250;

  Setting setting_;
  Fault fault_;
  std::mt19937 random_;
  Clock::time_point time_ = Clock::time_point() + std::chrono::hours(1);
  MemoryPool memory_;
  MemoryPool scratch_;
  FaultyPool pages_;
  ToyModel model_;
  int chances_ = 200;  // until an event is dropped
  std::vector<std::unique_ptr<LossySink>> lossy_;
  std::map<RequestId, std::unique_ptr<Life>> alive_;
  Engine engine_;
  PageRecount recount_;
  std::map<RequestId, int64_t> cached_;
  RequestId first_ = 0;
  int64_t first_progress_ = 0;
  int64_t n_stalled_ = 0;
  int64_t n_idle_ = 0;
  int64_t n_steps_ = 0;
};

// 10,000 requests in four settings: roomy and tight, with and without the prefix cache.
TEST(Simulation, TenThousandRequestsKeepEveryPromise) {
  const std::vector<Setting> settings = {
      {.n_requests = 4000, .n_pages = 14, .seed = 1},
      {.n_requests = 3000, .n_pages = 11, .max_batched_tokens = 12, .seed = 2},
      {.n_requests = 1500, .n_pages = 40, .max_sequences = 9, .seed = 3},
      {.n_requests = 1500, .n_pages = 12, .prefix_cache = false, .seed = 4}};
  for (const Setting& setting : settings) {
    SCOPED_TRACE(setting.seed);
    Simulation simulation(setting, Fault::kNone);
    const auto wrong = simulation.run();
    ASSERT_FALSE(wrong) << *wrong;
    EXPECT_EQ(simulation.n_pages_free(), setting.n_pages);
    int64_t n_ended = 0;
    for (const auto& [reason, count] : simulation.n_ended) {
      n_ended += count;
    }
    EXPECT_GE(n_ended, setting.n_requests);
    // The script does meet what it is about.
    EXPECT_GT(simulation.n_ended[FinishReason::kLength], setting.n_requests / 2);
    EXPECT_GT(simulation.n_ended[FinishReason::kCancelled], 10);
    EXPECT_GT(simulation.n_ended[FinishReason::kDeadline], 10);
    EXPECT_GT(simulation.n_ended[FinishReason::kQueueTimeout], 5);
    EXPECT_TRUE(setting.n_pages == 40 || simulation.engine().stats().n_preemptions > 10);
    EXPECT_EQ(simulation.n_cached > 1000, setting.prefix_cache);
  }
}

TEST(Simulation, TheSameScriptGivesTheSameSteps) {
  Simulation first({.n_requests = 200}, Fault::kNone);
  Simulation second({.n_requests = 200}, Fault::kNone);
  EXPECT_FALSE(first.run());
  EXPECT_FALSE(second.run());
  EXPECT_EQ(first.engine().stats().n_steps, second.engine().stats().n_steps);
  EXPECT_EQ(first.engine().stats().n_preemptions, second.engine().stats().n_preemptions);
}

// Roomy, so that no page that was taken goes back in the same step: the recount comes between.
std::string found(Fault fault) {
  return Simulation({.n_requests = 1000, .n_pages = 100}, fault).run().value_or("");
}

TEST(Simulation, ALostFreeIsFound) {
  EXPECT_NE(found(Fault::kLostFree).find("is held 0 times"), std::string::npos);
}

TEST(Simulation, ALostReferenceIsFound) {
  EXPECT_NE(found(Fault::kLostReference).find("is held"), std::string::npos);
}

TEST(Simulation, APageWithTwoOwnersIsFound) {
  EXPECT_NE(found(Fault::kDoubleOwner), "");
}

TEST(Simulation, AWrongHashIsFound) {
  EXPECT_NE(found(Fault::kWrongHash).find("the cache had"), std::string::npos);
}

TEST(Simulation, ADroppedEventIsFound) {
  EXPECT_NE(found(Fault::kDroppedEvent).find("tokens"), std::string::npos);
}

}  // namespace
}  // namespace fathom::engine::test

// An inbox under one lock; the engine itself belongs to the step thread alone.
// Called by api/openai/handler and api/server. Read next: engine/engine.cc.
#include "api/engine_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/thread_name.h"

namespace fathom::api {

namespace {

using Clock = std::chrono::steady_clock;

// Keeps a request's sink alive and notes its end.
class OpenChoice final : public engine::TextSink {
 public:
  OpenChoice(std::shared_ptr<engine::TextSink> sink, Ticket ticket)
      : sink_(std::move(sink)), ticket_(ticket) {}

  void on_prompt(std::span<const sample::Sampled> logprobs) override { sink_->on_prompt(logprobs); }

  bool on_token(const engine::TokenEvent& event) override { return sink_->on_token(event); }

  void on_finish(engine::FinishReason reason, const engine::Usage& usage,
                 std::string_view message) override {
    is_finished_ = true;
    sink_->on_finish(reason, usage, message);
  }

  engine::RequestId id = 0;

  [[nodiscard]] bool is_finished() const { return is_finished_; }

  [[nodiscard]] Ticket ticket() const { return ticket_; }

 private:
  std::shared_ptr<engine::TextSink> sink_;
  Ticket ticket_;
  bool is_finished_ = false;
};

}  // namespace

struct EngineThread::State {
  State(engine::Engine& used, int64_t most) : engine(used), max_open(most) {}

  engine::Engine& engine;
  const int64_t max_open;

  mutable std::mutex lock;
  std::condition_variable wake;
  std::vector<std::pair<Ticket, std::vector<EngineJob>>> inbox;
  std::vector<Ticket> cancels;
  bool stops = false;
  int64_t n_open = 0;
  Ticket next_ticket = 1;
  Pulse pulse{.since = Clock::now()};
  engine::EngineStats stats;

  // Of the step thread alone.
  std::vector<std::unique_ptr<OpenChoice>> open;
  bool has_work = false;
  bool has_failed = false;

  std::thread thread;

  void run();
  bool take_orders();
  void begin(Ticket ticket, const EngineJob& job);
  void step();
  void end_all(const std::string& message);
  void settle();
};

// Waits until there is something to do; false: stop, and nothing is left.
bool EngineThread::State::take_orders() {
  std::vector<std::pair<Ticket, std::vector<EngineJob>>> jobs;
  std::vector<Ticket> gone;
  bool is_last = false;
  {
    std::unique_lock guard(lock);
    wake.wait(guard, [this] { return has_work || stops || !inbox.empty() || !cancels.empty(); });
    jobs = std::exchange(inbox, {});
    gone = std::exchange(cancels, {});
    is_last = stops;
  }
  for (const auto& [ticket, list] : jobs) {
    for (const EngineJob& job : list) {
      begin(ticket, job);
    }
  }
  for (const auto& choice : open) {
    if (is_last || std::ranges::find(gone, choice->ticket()) != gone.end()) {
      engine.cancel(choice->id);
    }
  }
  return !(is_last && open.empty());
}

void EngineThread::State::begin(Ticket ticket, const EngineJob& job) {
  std::vector<engine::TextSink*> sinks;
  const size_t first = open.size();
  for (const auto& sink : job.sinks) {
    open.push_back(std::make_unique<OpenChoice>(sink, ticket));
    sinks.push_back(open.back().get());
  }
  try {
    if (has_failed) {
      fail(ErrorCode::kInternal, "an earlier step of the engine failed");
    }
    const std::vector<engine::RequestId> ids = engine.submit_choices(job.request, sinks);
    for (size_t i = 0; i < ids.size(); ++i) {
      open[first + i]->id = ids[i];
    }
  } catch (const std::exception& error) {  // check() has passed: something of ours
    for (engine::TextSink* sink : sinks) {
      sink->on_finish(engine::FinishReason::kError, {}, error.what());
    }
  }
}

// Ends every request with an error; the engine is not used again.
void EngineThread::State::end_all(const std::string& message) {
  log_line(LogLevel::kError, message);
  for (const auto& choice : open) {
    if (!choice->is_finished()) {
      choice->on_finish(engine::FinishReason::kError, {}, message);
    }
  }
  has_work = false;
  has_failed = true;
  const std::lock_guard guard(lock);
  pulse.has_failed = true;
}

void EngineThread::State::step() {
  {
    const std::lock_guard guard(lock);
    pulse.n_steps += 1;
    pulse.is_stepping = true;
    pulse.since = Clock::now();
  }
  try {
    has_work = engine.step();
  } catch (const std::exception& error) {
    end_all(
        fmt::format("a step of the engine failed: {}; the server takes no more requests, "
                    "restart it",
                    error.what()));
  }
}

// Forgets what has ended and publishes the figures.
void EngineThread::State::settle() {
  std::erase_if(open, [](const auto& choice) { return choice->is_finished(); });
  const engine::EngineStats now = engine.stats();
  const std::lock_guard guard(lock);
  n_open = static_cast<int64_t>(open.size());
  for (const auto& [ticket, jobs] : inbox) {
    for (const EngineJob& job : jobs) {
      n_open += static_cast<int64_t>(job.sinks.size());
    }
  }
  stats = now;
  pulse.is_stepping = false;
  pulse.since = Clock::now();
}

void EngineThread::State::run() {
  while (take_orders()) {
    if (!has_failed) {
      step();
    }
    settle();
  }
}

EngineThread::EngineThread(engine::Engine& engine, int64_t max_open)
    : state_(std::make_unique<State>(engine, max_open)) {
  state_->stats = engine.stats();
  state_->thread = std::thread([state = state_.get()] {
    name_this_thread("fathom-step");
    state->run();
  });
}

EngineThread::~EngineThread() {
  stop();
}

void EngineThread::check(const engine::Request& request) const {
  state_->engine.check(request);
}

std::optional<Ticket> EngineThread::try_submit(std::vector<EngineJob> jobs) {
  int64_t n_choices = 0;
  for (const EngineJob& job : jobs) {
    check(job.request);
    n_choices += static_cast<int64_t>(job.sinks.size());
  }
  Ticket ticket = 0;
  {
    const std::lock_guard guard(state_->lock);
    if (state_->stops || state_->pulse.has_failed ||
        state_->n_open + n_choices > state_->max_open) {
      return std::nullopt;
    }
    ticket = state_->next_ticket++;
    state_->n_open += n_choices;
    state_->inbox.emplace_back(ticket, std::move(jobs));
  }
  state_->wake.notify_one();
  return ticket;
}

void EngineThread::cancel(Ticket ticket) {
  {
    const std::lock_guard guard(state_->lock);
    state_->cancels.push_back(ticket);
  }
  state_->wake.notify_one();
}

void EngineThread::stop() {
  {
    const std::lock_guard guard(state_->lock);
    state_->stops = true;
  }
  state_->wake.notify_one();
  if (state_->thread.joinable()) {
    state_->thread.join();
  }
}

engine::EngineStats EngineThread::stats() const {
  const std::lock_guard guard(state_->lock);
  return state_->stats;
}

Pulse EngineThread::pulse() const {
  const std::lock_guard guard(state_->lock);
  return state_->pulse;
}

int64_t EngineThread::n_open() const {
  const std::lock_guard guard(state_->lock);
  return state_->n_open;
}

int64_t EngineThread::max_open() const {
  return state_->max_open;
}

}  // namespace fathom::api

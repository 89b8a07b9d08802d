// A thread for each client; the caller's thread looks on.
// Read next: api/load_report.h.
#include "api/load_run.h"

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

namespace fathom::api {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWords[] = {
    "time",  "river",  "stone",   "paper", "light", "garden", "winter", "letter",
    "music", "glass",  "market",  "ship",  "cloud", "story",  "green",  "quiet",
    "road",  "house",  "morning", "bread", "table", "silver", "number", "forest",
    "salt",  "bridge", "window",  "horse", "coast", "summer", "engine", "field"};

int64_t draw(std::mt19937_64& random, const CountRange& range) {
  const auto n = static_cast<uint64_t>(range.highest - range.lowest + 1);
  return range.lowest + static_cast<int64_t>(random() % n);
}

std::string words(std::mt19937_64& random, int64_t n) {
  std::string text;
  for (int64_t i = 0; i < n; ++i) {
    text += kWords[random() % std::size(kWords)];
    text += ' ';
  }
  return text;
}

// Requests one after the other until none is left.
class ClosedLoop {
 public:
  explicit ClosedLoop(const LoadPlan& plan, LoadResult& result) : plan_(plan), result_(result) {}

  void run_client() {
    for (int64_t i = 0; (i = next_.fetch_add(1)) < plan_.n_requests;) {
      result_.samples[static_cast<size_t>(i)] =
          run_request(plan_.target, plan_.is_chat ? "/v1/chat/completions" : "/v1/completions",
                      load_body(plan_, i), Clock::now());
      n_done.fetch_add(1);
    }
  }

  std::atomic<int64_t> n_done = 0;

 private:
  const LoadPlan& plan_;
  LoadResult& result_;
  std::atomic<int64_t> next_ = 0;
};

// Each request at its own time, whether or not those before it are done.
std::vector<double> arrival_times(const LoadPlan& plan) {
  std::mt19937_64 random(plan.seed);
  std::exponential_distribution<double> gap(plan.rate_per_s);
  std::vector<double> times;
  double now = 0;
  for (int64_t i = 0; i < plan.n_requests; ++i) {
    times.push_back(now);
    now += gap(random);
  }
  return times;
}

void wait_for_all(const std::atomic<int64_t>& n_done, int64_t n,
                  const std::function<void(int64_t)>& progress) {
  while (n_done.load() < n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (progress) {
      progress(n_done.load());
    }
  }
}

}  // namespace

std::string load_body(const LoadPlan& plan, int64_t i) {
  std::mt19937_64 shared(plan.seed);
  std::mt19937_64 own(plan.seed * 1'000'003 + static_cast<uint64_t>(i) + 1);
  const int64_t max_tokens = draw(own, plan.max_tokens);
  const std::string prompt =
      words(shared, plan.shared_words) + words(own, draw(own, plan.prompt_words));
  nlohmann::json body = {{"model", plan.model},
                         {"max_tokens", max_tokens},
                         {"temperature", 0},
                         {"stream", true},
                         {"stream_options", {{"include_usage", true}}}};
  if (plan.is_chat) {
    body["messages"] = {{{"role", "user"}, {"content", prompt}}};
  } else {
    body["prompt"] = prompt;
  }
  if (plan.ignore_eos) {
    body["ignore_eos"] = true;
  }
  return body.dump();
}

LoadResult run_load(const LoadPlan& plan, const std::function<void(int64_t)>& progress) {
  LoadResult result;
  result.samples.resize(static_cast<size_t>(plan.n_requests));
  std::vector<std::thread> threads;
  const Clock::time_point start = Clock::now();
  if (plan.rate_per_s > 0) {
    result.rate_per_s = plan.rate_per_s;
    std::atomic<int64_t> n_done = 0;
    const std::vector<double> times = arrival_times(plan);
    for (int64_t i = 0; i < plan.n_requests; ++i) {
      const Clock::time_point due =
          start + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(times[static_cast<size_t>(i)]));
      std::this_thread::sleep_until(due);
      threads.emplace_back([&plan, &result, &n_done, i, due] {
        result.samples[static_cast<size_t>(i)] =
            run_request(plan.target, plan.is_chat ? "/v1/chat/completions" : "/v1/completions",
                        load_body(plan, i), due);
        n_done.fetch_add(1);
      });
      if (progress) {
        progress(n_done.load());
      }
    }
    wait_for_all(n_done, plan.n_requests, progress);
    for (std::thread& thread : threads) {
      thread.join();
    }
  } else {
    result.n_clients = plan.n_clients;
    ClosedLoop loop(plan, result);
    for (int64_t i = 0; i < plan.n_clients; ++i) {
      threads.emplace_back([&loop] { loop.run_client(); });
    }
    wait_for_all(loop.n_done, plan.n_requests, progress);
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  result.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace fathom::api

// Requests are counted as they end; the engine's numbers are taken when somebody asks.
// Read next: docs/grafana.json, engine/engine.h.
#include "api/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::api {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets& long_buckets() {  // seconds: waiting, first token, whole answers
  static const Buckets kBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,   2.5,
                                   5,     10,   20,    40,   80,  160,  320, 640, 1280};
  return kBuckets;
}

const Buckets& short_buckets() {  // seconds: from token to token
  static const Buckets kBuckets = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075,
                                   0.1,   0.15,   0.25,  0.5,  1,    2.5,  5,    10};
  return kBuckets;
}

constexpr std::array<std::string_view, 7> kFinishReasons = {
    "stop", "length", "cancelled", "error", "deadline", "queue_timeout", "none"};

// The statuses that have a series of their own; others count as "other".
constexpr std::array<int, 16> kStatuses = {200, 400, 401, 403, 404, 405, 408, 413,
                                           422, 429, 431, 499, 500, 503, 504, 505};

constexpr std::string_view kNoRoute = "none";

using StatusCounters = std::map<std::string, prometheus::Counter*, std::less<>>;

std::string finish_label(std::string_view reason) {
  const bool is_known =
      std::find(kFinishReasons.begin(), kFinishReasons.end(), reason) != kFinishReasons.end();
  return std::string(is_known ? reason : "none");
}

std::string status_label(int status) {
  const bool is_known = std::find(kStatuses.begin(), kStatuses.end(), status) != kStatuses.end();
  return is_known ? std::to_string(status) : "other";
}

// One family of numbers that are taken at the moment of asking.
class Snapshot {
 public:
  void add(MetricType type, std::string name, std::string help,
           const std::vector<std::pair<std::string, double>>& values, const char* label = "") {
    MetricFamily family{std::move(name), std::move(help), type, {}};
    for (const auto& [label_value, value] : values) {
      ClientMetric metric;
      if (*label != '\0') {
        metric.label.push_back({label, label_value});
      }
      (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
      family.metric.push_back(std::move(metric));
    }
    families.push_back(std::move(family));
  }

  std::vector<MetricFamily> families;
};

double number(int64_t value) {
  return static_cast<double>(value);
}

void add_engine(Snapshot& snapshot, const engine::EngineStats& stats) {
  snapshot.add(MetricType::Gauge, "fathom_requests", "Requests in the engine now.",
               {{"waiting", number(stats.n_waiting)}, {"running", number(stats.n_running)}},
               "state");
  snapshot.add(MetricType::Gauge, "fathom_kv_pages", "Pages of the KV cache now.",
               {{"free", number(stats.n_pages_free)},
                {"cached", number(stats.n_pages_cached)},
                {"used", number(stats.n_pages_used)}},
               "state");
  const auto add = [&](const char* name, const char* help, double value) {
    snapshot.add(MetricType::Counter, name, help, {{"", value}});
  };
  add("fathom_steps_total", "Steps of the engine.", number(stats.n_steps));
  snapshot.add(MetricType::Counter, "fathom_rows_total", "Rows computed.",
               {{"prompt", number(stats.n_prompt_rows)},
                {"generated", number(stats.n_rows - stats.n_prompt_rows)}},
               "kind");
  add("fathom_preemptions_total", "Times that a sequence's pages went to others.",
      number(stats.n_preemptions));
  add("fathom_context_shifts_total", "Times that a full context lost its older half.",
      number(stats.n_context_shifts));
  add("fathom_prefix_asked_tokens_total", "Prompt tokens looked up in the prefix cache.",
      number(stats.prefix.asked_tokens));
  add("fathom_prefix_hit_tokens_total", "Prompt tokens taken over from the prefix cache.",
      number(stats.prefix.matched_tokens));
  add("fathom_prefix_inserted_pages_total", "Pages put into the prefix cache.",
      number(stats.prefix.n_inserted));
  add("fathom_prefix_evicted_pages_total", "Pages that left the prefix cache.",
      number(stats.prefix.n_evicted));
  snapshot.add(MetricType::Counter, "fathom_step_seconds_total", "Time of steps by phase.",
               {{"schedule", stats.schedule_s},
                {"forward", stats.forward_s},
                {"sample", stats.sample_s},
                {"publish", stats.publish_s}},
               "phase");
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  file >> total >> resident;
  return number(resident * ::sysconf(_SC_PAGESIZE));
}

}  // namespace

struct Metrics::Parts {
  prometheus::Registry registry;
  std::map<std::string, prometheus::Counter*, std::less<>> requests;  // by finish reason
  prometheus::Family<prometheus::Counter>* by_route;
  prometheus::Counter* prompt_tokens;
  prometheus::Counter* cached_tokens;
  prometheus::Counter* generated_tokens;
  prometheus::Histogram* queue;
  prometheus::Histogram* first_token;
  prometheus::Histogram* inter_token;
  prometheus::Histogram* total;
  mutable std::mutex mutex;                                      // of the next three
  std::map<std::string, StatusCounters, std::less<>> responses;  // by route
  std::function<engine::EngineStats()> stats;
  std::function<int64_t()> n_connections;

  explicit Parts(const std::string& version);
  void add_route(std::string_view route);
  void count_response(std::string_view route, int status);
  prometheus::Counter* counter(const char* name, const char* help);
  prometheus::Histogram* histogram(const char* name, const char* help, const Buckets& buckets);
};

void Metrics::Parts::add_route(std::string_view route) {
  StatusCounters& counters = responses[std::string(route)];
  const auto add = [&](const std::string& status) {
    counters[status] = &by_route->Add({{"route", std::string(route)}, {"status", status}});
  };
  for (const int status : kStatuses) {
    add(std::to_string(status));
  }
  add("other");
}

void Metrics::Parts::count_response(std::string_view route, int status) {
  const std::lock_guard lock(mutex);
  const auto found = responses.find(route);
  const StatusCounters& counters =
      found == responses.end() ? responses.find(kNoRoute)->second : found->second;
  counters.find(status_label(status))->second->Increment();
}

prometheus::Counter* Metrics::Parts::counter(const char* name, const char* help) {
  return &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram* Metrics::Parts::histogram(const char* name, const char* help,
                                                 const Buckets& buckets) {
  return &prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

Metrics::Parts::Parts(const std::string& version) {
  auto& by_reason = prometheus::BuildCounter()
                        .Name("fathom_requests_total")
                        .Help("Requests that the engine has ended, by why they ended.")
                        .Register(registry);
  for (const std::string_view reason : kFinishReasons) {
    requests[std::string(reason)] = &by_reason.Add({{"finish_reason", std::string(reason)}});
  }
  by_route = &prometheus::BuildCounter()
                  .Name("fathom_responses_total")
                  .Help("Answers by route and HTTP status; 499: the client was gone.")
                  .Register(registry);
  add_route(kNoRoute);
  prompt_tokens = counter("fathom_prompt_tokens_total", "Tokens of prompts.");
  cached_tokens = counter("fathom_cached_tokens_total", "Tokens of prompts found in the cache.");
  generated_tokens = counter("fathom_generated_tokens_total", "Tokens generated.");
  queue = histogram("fathom_queue_seconds", "From arrival to admission.", long_buckets());
  first_token = histogram("fathom_time_to_first_token_seconds", "From arrival to the first token.",
                          long_buckets());
  inter_token = histogram("fathom_inter_token_seconds", "From token to token.", short_buckets());
  total = histogram("fathom_request_seconds", "From arrival to the end.", long_buckets());
  prometheus::BuildGauge()
      .Name("fathom_build_info")
      .Help("1; the version is in the label.")
      .Register(registry)
      .Add({{"version", version}})
      .Set(1);
  prometheus::BuildGauge()
      .Name("process_start_time_seconds")
      .Help("Start of the process, in seconds since 1970.")
      .Register(registry)
      .Add({})
      .SetToCurrentTime();
}

Metrics::Metrics(const std::string& version) : parts_(std::make_unique<Parts>(version)) {}

Metrics::~Metrics() = default;

void Metrics::set_routes(std::span<const http::Route> routes) {
  const std::lock_guard lock(parts_->mutex);
  for (const http::Route& route : routes) {
    parts_->add_route(route.path);
  }
}

void Metrics::record(const http::RequestRecord& request) {
  Parts& parts = *parts_;
  parts.count_response(request.route, request.status);
  if (!request.finish_reason.empty()) {
    parts.requests.find(finish_label(request.finish_reason))->second->Increment();
    parts.total->Observe(request.total_s);
  }
  parts.prompt_tokens->Increment(number(request.prompt_tokens));
  parts.cached_tokens->Increment(number(request.cached_tokens));
  parts.generated_tokens->Increment(number(request.generated_tokens));
  if (request.queue_s >= 0) {
    parts.queue->Observe(request.queue_s);
  }
  if (request.first_token_s >= 0) {
    parts.first_token->Observe(request.first_token_s);
  }
  for (const float gap : request.inter_tokens_s) {
    parts.inter_token->Observe(static_cast<double>(gap));
  }
}

void Metrics::set_engine(std::function<engine::EngineStats()> stats) {
  const std::lock_guard lock(parts_->mutex);
  parts_->stats = std::move(stats);
}

void Metrics::set_connections(std::function<int64_t()> n_connections) {
  const std::lock_guard lock(parts_->mutex);
  parts_->n_connections = std::move(n_connections);
}

std::string Metrics::text() const {
  Snapshot snapshot;
  snapshot.families = parts_->registry.Collect();
  {
    const std::lock_guard lock(parts_->mutex);
    if (parts_->stats) {
      add_engine(snapshot, parts_->stats());
    }
    if (parts_->n_connections) {
      snapshot.add(MetricType::Gauge, "fathom_connections", "Open connections.",
                   {{"", number(parts_->n_connections())}});
    }
  }
  snapshot.add(MetricType::Gauge, "process_resident_memory_bytes", "Resident memory.",
               {{"", resident_bytes()}});
  return prometheus::TextSerializer().Serialize(snapshot.families);
}

}  // namespace fathom::api

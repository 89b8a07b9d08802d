// tick() moves the server from state to state; other threads only leave word for it.
// Read next: api/http/front.h, api/metrics.h.
#include "api/server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "api/http/front.h"
#include "api/http/key_ring.h"
#include "api/metrics.h"
#include "api/request_log.h"
#include "api/service_notify.h"
#include "base/error.h"
#include "base/log.h"

namespace fathom::api {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAfterCut = std::chrono::seconds(3);  // for errors to be written and read

class Records : public http::RecordSink {
 public:
  explicit Records(std::shared_ptr<Metrics> metrics) : metrics_(std::move(metrics)) {}

  void record(const http::RequestRecord& request) override {
    metrics_->record(request);
    log_record(request_text(request), request_members(request));
  }

 private:
  std::shared_ptr<Metrics> metrics_;
};

http::KeyRing read_keys(const ServerOptions& options) {
  http::KeyRing ring;
  if (!options.key_file.empty()) {
    ring.add_file(options.key_file);
  }
  ring.add(options.keys, "FATHOM_API_KEYS");
  if (ring.is_empty() && !options.keys.empty()) {  // never open by a slip of the pen
    fail(ErrorCode::kInvalidArgument,
         "FATHOM_API_KEYS: found no API key; expected KEY or NAME KEY, with commas between, or no "
         "such variable");
  }
  return ring;
}

Clock::duration seconds(double value) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
}

}  // namespace

struct Server::Parts {
  ServerOptions options;
  std::shared_ptr<Metrics> metrics;
  std::shared_ptr<Records> records;
  http::Front front;
  http::Transport transport;
  ServiceNotify notify = ServiceNotify::of_environment();
  State state = State::kLoading;

  std::thread loader;
  std::atomic<bool> is_loaded = false;  // the next two are set
  ServedModel model;
  std::exception_ptr failure;

  bool has_cut = false;
  Clock::time_point drain_end;  // then the answers under way are cut; or then all ends
  bool is_stuck = false;
  uint64_t heartbeat = 0;
  Clock::time_point last_heartbeat = Clock::now();
  Clock::time_point last_notify = Clock::now();

  explicit Parts(const ServerOptions& given);
  void take_model();
  void watch(Clock::time_point now);
  void go_on_draining(Clock::time_point now);
};

Server::Parts::Parts(const ServerOptions& given)
    : options(given),
      metrics(std::make_shared<Metrics>(given.version)),
      records(std::make_shared<Records>(metrics)),
      front({.cors_origins = given.cors_origins,
             .version = fmt::format(R"({{"version":{}}})", quote_json(given.version)),
             .metrics = [metrics = metrics] { return metrics->text(); }}),
      transport(given.transport, front, records.get()) {
  http::KeyRing keys = read_keys(options);
  if (keys.is_empty() && !transport.is_loopback() && !options.no_auth) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("--host {}: other machines can reach this address, and no API keys are set; "
                     "give --api-key-file or FATHOM_API_KEYS, or --no-auth to serve everybody",
                     options.transport.host));
  }
  front.set_keys(std::move(keys));
  metrics->set_connections([this] { return transport.n_connections(); });
}

// The loader is done.
void Server::Parts::take_model() {
  loader.join();
  if (failure != nullptr) {
    state = State::kFailed;
    return;
  }
  front.set_handler(model.handler);
  metrics->set_routes(model.handler->routes());
  metrics->set_engine(model.stats);
  if (state == State::kLoading) {
    state = State::kServing;
    front.set_stage(http::Stage::kReady);
    notify.send("READY=1\nSTATUS=serving");
    note(fmt::format("ready at {}://{}",
                     options.transport.certificate_path.empty() ? "http" : "https",
                     fmt::join(transport.addresses(), ", ")));
  }
}

void Server::Parts::watch(Clock::time_point now) {
  const StepBeat beat = state == State::kLoading ? StepBeat() : model.beat();
  const bool is_long = options.watchdog_s > 0 && beat.seconds > options.watchdog_s;
  if (is_long != is_stuck) {
    is_stuck = is_long;
    front.set_stuck(is_long);
    if (is_long) {
      log_line(LogLevel::kError, fmt::format("a step takes longer than {:g} s; it is in phase '{}'",
                                             options.watchdog_s, beat.phase));
    } else {
      note("the step that took long is over");
    }
  }
  const uint64_t beats = transport.heartbeat();
  if (beats != heartbeat) {
    heartbeat = beats;
    last_heartbeat = now;
  }
  const auto interval = notify.interval();
  const bool is_alive = !is_stuck && now - last_heartbeat < std::chrono::seconds(10);
  if (interval && is_alive && now - last_notify >= *interval) {
    last_notify = now;
    notify.send("WATCHDOG=1");
  }
}

void Server::Parts::go_on_draining(Clock::time_point now) {
  const bool is_idle = transport.n_exchanges() == 0;
  if (!has_cut && (is_idle || now >= drain_end)) {
    if (!is_idle) {
      warn(fmt::format("{} requests were not done after {:g} s of draining; they are given up",
                       transport.n_exchanges(), options.drain_s));
    }
    has_cut = true;
    drain_end = now + kAfterCut;
    transport.cut();
  }
  if (has_cut && (now >= drain_end || transport.n_connections() == 0)) {
    state = State::kStopped;
  }
}

Server::Server(const ServerOptions& options) : parts_(std::make_unique<Parts>(options)) {
  parts_->transport.start();
  parts_->notify.send(fmt::format("STATUS=loading, port {} is bound", parts_->transport.port()));
}

Server::~Server() {
  parts_->transport.stop();
  if (parts_->loader.joinable()) {
    parts_->loader.join();
  }
  parts_->metrics->set_engine({});
  parts_->metrics->set_connections({});
  parts_->front.set_handler(nullptr);
  parts_->model.handler.reset();  // it uses what stop() ends
  if (parts_->model.stop) {
    parts_->model.stop();
  }
}

std::shared_ptr<http::RecordSink> Server::records() const {
  return parts_->records;
}

void Server::load(std::function<ServedModel()> load) {
  parts_->loader = std::thread([parts = parts_.get(), load = std::move(load)] {
    try {
      parts->model = load();
    } catch (...) {
      parts->failure = std::current_exception();
    }
    parts->is_loaded.store(true);
  });
}

Server::State Server::tick() {
  Parts& parts = *parts_;
  const Clock::time_point now = Clock::now();
  if (parts.is_loaded.load() && parts.loader.joinable()) {
    parts.take_model();
  }
  if (parts.state == State::kLoading || parts.state == State::kServing) {
    parts.watch(now);
  } else if (parts.state == State::kDraining) {
    parts.go_on_draining(now);
  }
  return parts.state;
}

void Server::drain() {
  Parts& parts = *parts_;
  if (parts.state == State::kDraining) {
    parts.state = State::kStopped;
  }
  if (parts.state != State::kLoading && parts.state != State::kServing) {
    return;
  }
  note(fmt::format("going down; {} requests may take up to {:g} s", parts.transport.n_exchanges(),
                   parts.options.drain_s));
  parts.notify.send("STOPPING=1");
  parts.front.set_stage(http::Stage::kDraining);
  parts.transport.drain();
  parts.state = State::kDraining;
  parts.drain_end = Clock::now() + seconds(parts.options.drain_s);
}

void Server::reload() {
  Parts& parts = *parts_;
  try {
    http::KeyRing keys = read_keys(parts.options);
    if (keys.is_empty() && (!parts.options.key_file.empty() || !parts.options.keys.empty())) {
      fail(ErrorCode::kInvalidArgument, "no API key is left");
    }
    parts.transport.reload_tls();
    const size_t n_keys = keys.size();
    parts.front.set_keys(std::move(keys));
    note(fmt::format("read again: {} API keys{}", n_keys,
                     parts.options.transport.certificate_path.empty() ? "" : ", certificates"));
  } catch (const Error& error) {
    warn(fmt::format("not read again, the old keys and certificates stay: {}", error.what()));
  }
}

std::exception_ptr Server::failure() const {
  return parts_->failure;
}

const std::vector<std::string>& Server::addresses() const {
  return parts_->transport.addresses();
}

int Server::port() const {
  return parts_->transport.port();
}

}  // namespace fathom::api

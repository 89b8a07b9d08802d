// Blocking calls: a client thread has nothing else to do.
// Read next: api/load_run.h, api/load_socket.h.
#include "api/load_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace fathom::api {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

const LoadTrust& trust_of(const LoadTarget& target) {
  FATHOM_CHECK(target.is_https == (target.trust != nullptr));
  return target.trust;
}

std::string head_of(const LoadTarget& target, const std::string& method, const std::string& path) {
  const bool is_v6 = target.host.find(':') != std::string::npos;
  std::string head =
      fmt::format("{} {}{} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\n", method, target.prefix,
                  path, is_v6 ? fmt::format("[{}]", target.host) : target.host, target.port);
  if (!target.key.empty()) {
    head += fmt::format("Authorization: Bearer {}\r\n", target.key);
  }
  return head;
}

// The text that an event brings, of either route; what it says about usage goes to the sample.
bool has_text(const std::string& event, LoadSample& sample) {
  const auto object = nlohmann::json::parse(event, nullptr, false);
  if (!object.is_object()) {
    sample.error = fmt::format("an event is no JSON object: {}", event.substr(0, 100));
    return false;
  }
  if (const auto error = object.find("error"); error != object.end()) {
    sample.error = error->dump().substr(0, 200);
    return false;
  }
  if (const auto usage = object.find("usage"); usage != object.end() && usage->is_object()) {
    sample.n_prompt = usage->value("prompt_tokens", int64_t{0});
    sample.n_generated = usage->value("completion_tokens", int64_t{0});
  }
  const auto choices = object.find("choices");
  if (choices == object.end() || !choices->is_array() || choices->empty()) {
    return false;
  }
  const nlohmann::json& choice = choices->front();
  const auto text = choice.find("text");
  if (text != choice.end()) {
    return text->is_string() && !text->get_ref<const std::string&>().empty();
  }
  const auto delta = choice.find("delta");
  if (delta == choice.end() || !delta->is_object()) {
    return false;
  }
  const auto content = delta->find("content");
  return content != delta->end() && content->is_string() &&
         !content->get_ref<const std::string&>().empty();
}

// One event at its time.
void take_event(const std::string& event, Clock::duration since_due, LoadSample& sample,
                int64_t& n_events) {
  if (event == "[DONE]" || !has_text(event, sample)) {
    return;
  }
  const double now = seconds(since_due);
  if (sample.first_token_s < 0) {
    sample.first_token_s = now;
  } else {
    sample.gaps_s.push_back(now - sample.total_s);
  }
  sample.total_s = now;  // so far
  ++n_events;
}

}  // namespace

LoadTarget parse_url(std::string_view url) {
  constexpr std::string_view kPlain = "http://";
  constexpr std::string_view kSecure = "https://";
  const std::string_view given = url;
  const auto refuse = [given] {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("'{}' is no address of a server; expected http://HOST:PORT or "
                     "https://HOST:PORT",
                     given));
  };
  LoadTarget target;
  target.is_https = url.starts_with(kSecure);
  target.port = target.is_https ? 443 : 80;
  if (!target.is_https && !url.starts_with(kPlain)) {
    refuse();
  }
  url.remove_prefix(target.is_https ? kSecure.size() : kPlain.size());
  const size_t slash = std::min(url.find('/'), url.size());
  std::string_view prefix = url.substr(slash);
  std::string_view host = url.substr(0, slash);
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    const std::string_view port = host.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), target.port);
    if (error != std::errc() || end != port.data() + port.size() || target.port < 1 ||
        target.port > 65535) {
      refuse();
    }
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty()) {
    refuse();
  }
  while (prefix.ends_with('/')) {
    prefix.remove_suffix(1);
  }
  if (prefix.ends_with("/v1")) {
    prefix.remove_suffix(3);
  }
  target.host = host;
  target.prefix = prefix;
  return target;
}

bool EventReader::take_head() {
  const size_t end = raw_.find("\r\n\r\n");
  if (end == std::string::npos) {
    return false;
  }
  std::string head = raw_.substr(0, end + 2);
  raw_.erase(0, end + 4);
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const size_t blank = std::min(head.find(' '), head.size() - 1);
  std::from_chars(head.data() + blank + 1, head.data() + head.size(), status_);
  is_chunked_ = head.find("\ntransfer-encoding: chunked") != std::string::npos;
  is_events_ = head.find("\ncontent-type: text/event-stream") != std::string::npos;
  const size_t length = head.find("\ncontent-length: ");
  if (length != std::string::npos) {
    std::from_chars(head.data() + length + 17, head.data() + head.size(), n_left_);
  }
  is_done_ = n_left_ == 0;
  return true;
}

void EventReader::take_body() {
  while (!raw_.empty() && !is_done_) {
    if (is_chunked_ && is_between_) {
      const size_t end = raw_.find("\r\n");
      if (end == std::string::npos) {
        return;
      }
      n_left_ = 0;
      std::from_chars(raw_.data(), raw_.data() + end, n_left_, 16);
      raw_.erase(0, end + 2);
      is_done_ = n_left_ == 0;
      is_between_ = false;
      n_left_ += 2;  // the line end behind the bytes
      continue;
    }
    const size_t n =
        n_left_ < 0 ? raw_.size() : std::min(raw_.size(), static_cast<size_t>(n_left_));
    body_.append(raw_, 0, n);
    raw_.erase(0, n);
    n_left_ -= n_left_ < 0 ? 0 : static_cast<int64_t>(n);
    if (n_left_ == 0 && is_chunked_) {
      body_.resize(body_.size() - 2);
      is_between_ = true;
    } else if (n_left_ == 0) {
      is_done_ = true;
    }
  }
}

std::vector<std::string> EventReader::take_events() {
  std::vector<std::string> events;
  // Within a chunk, up to two bytes at the end are not the body's.
  const bool is_within = is_chunked_ && !is_between_;
  const size_t usable = body_.size() - std::min<size_t>(body_.size(), is_within ? 2 : 0);
  size_t begin = 0;
  for (size_t end = 0; (end = body_.find('\n', begin)) < usable; begin = end + 1) {
    std::string_view line = std::string_view(body_).substr(begin, end - begin);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.starts_with("data:")) {
      line.remove_prefix(5);
      events.emplace_back(line.substr(line.starts_with(' ') ? 1 : 0));
    }
  }
  body_.erase(0, begin);
  return events;
}

std::vector<std::string> EventReader::take(std::string_view bytes) {
  raw_ += bytes;
  if (status_ == 0 && !take_head()) {
    return {};
  }
  take_body();
  return is_events_ ? take_events() : std::vector<std::string>();
}

LoadSample run_request(const LoadTarget& target, const std::string& path, const std::string& body,
                       Clock::time_point due) {
  LoadSample sample;
  EventReader reader;
  int64_t n_events = 0;
  try {
    LoadSocket socket(target.host, target.port, trust_of(target));
    socket.send(fmt::format("{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                            head_of(target, "POST", path), body.size(), body));
    std::vector<char> buffer(16384);
    while (!reader.is_done() && sample.error.empty()) {
      const std::string_view bytes = socket.receive(buffer);
      if (bytes.empty()) {
        sample.error = reader.status() == 0 ? "closed without an answer" : "closed in the answer";
        break;
      }
      const auto since_due = Clock::now() - due;
      for (const std::string& event : reader.take(bytes)) {
        take_event(event, since_due, sample, n_events);
      }
    }
  } catch (const Error& error) {
    sample.error = error.what();
  }
  if (sample.error.empty() && reader.status() != 200) {
    sample.error = fmt::format("status {}: {}", reader.status(), reader.body().substr(0, 200));
  } else if (sample.error.empty() && sample.first_token_s < 0) {
    sample.error = "no text came";
  }
  sample.n_generated = sample.n_generated > 0 ? sample.n_generated : n_events;
  sample.total_s = seconds(Clock::now() - due);
  return sample;
}

LoadAnswer get_answer(const LoadTarget& target, const std::string& path) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  LoadSocket socket(target.host, target.port, trust_of(target));
  socket.send(head_of(target, "GET", path) + "\r\n");
  EventReader reader;
  std::vector<char> buffer(16384);
  size_t n_bytes = 0;
  while (!reader.is_done() && n_bytes < kMostBytes) {
    const std::string_view bytes = socket.receive(buffer);
    if (bytes.empty()) {
      break;
    }
    n_bytes += bytes.size();
    reader.take(bytes);
  }
  if (reader.status() == 0) {
    fail(ErrorCode::kPeerLost,
         fmt::format("GET {}{}: found {}, expected an answer of HTTP; is the URL that of a server?",
                     target.prefix, path,
                     n_bytes == 0 ? "a closed connection" : "bytes that are none"));
  }
  return {reader.status(), reader.body()};
}

}  // namespace fathom::api

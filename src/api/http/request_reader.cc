// The one user of Beast. Its parser refuses what is not HTTP, two lengths that differ, and lengths
// beside chunks; codings that it does not know are refused here. So a request's end is never a
// matter of opinion.
#include "api/http/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace fathom::api::http {

namespace beast = boost::beast;

struct RequestReader::Parts {
  beast::http::request_parser<beast::http::string_body> parser;
  State state = State::kHead;
  ReadLimits limits;
  bool has_begun = false;
  bool wants_continue = false;
  Request request;
  ReadError error;

  void refuse(const beast::error_code& code);
  void refuse(std::string message, int status = 400);
  bool take_target(std::string_view target);
  bool check_head();
  bool check_host();
  void read_head();
};

namespace {

constexpr std::string_view kHostMarks = "-._~!$&'()*+,;=%:[]";

// Letters that a host with its port may have (RFC 3986, 3.2.2). Nothing is a host as well: of
// targets without one.
bool is_host(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') ||
           kHostMarks.find(c) != std::string_view::npos;
  });
}

}  // namespace

void RequestReader::Parts::refuse(const beast::error_code& code) {
  state = State::kError;
  if (code == beast::http::error::header_limit) {
    error = {431, fmt::format("the request's line and headers are longer than {} bytes; send less",
                              limits.head_bytes)};
  } else if (code == beast::http::error::body_limit) {
    error = {413, fmt::format("the request's body is longer than {} bytes; send less, or start the "
                              "server with a larger --max-body-bytes",
                              limits.body_bytes)};
  } else if (code == beast::http::error::bad_version) {
    error = {505, "the request is not HTTP/1.1 or HTTP/1.0; use one of these"};
  } else {
    error = {400, fmt::format("the request is not well-formed HTTP/1.1: {}", code.message())};
  }
}

void RequestReader::Parts::refuse(std::string message, int status) {
  state = State::kError;
  error = {status, std::move(message)};
}

// "/path?query", "http://host/path?query" or "*". False for anything else.
bool RequestReader::Parts::take_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.starts_with(scheme)) {
      target.remove_prefix(scheme.size());
      const size_t slash = target.find('/');
      target = slash == std::string_view::npos ? "/" : target.substr(slash);
      break;
    }
  }
  if (!target.starts_with('/') && target != "*") {
    return false;
  }
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  request.query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  return true;
}

// What a proxy before this server may read in another way. The parser takes a body in any other
// coding for none, and its bytes for the next request.
bool RequestReader::Parts::check_head() {
  const auto& message = parser.get();
  const auto coding = message.find(beast::http::field::transfer_encoding);
  if (coding != message.end()) {
    if (message.version() < 11) {
      refuse("the request has Transfer-Encoding in HTTP/1.0; expected Content-Length");
      return false;
    }
    if (!beast::iequals(coding->value(), "chunked")) {
      refuse(fmt::format("the request's Transfer-Encoding is '{}'; expected chunked alone",
                         std::string(coding->value())));
      return false;
    }
  }
  return check_host();
}

// RFC 9112, 3.2: one Host in every request of HTTP/1.1, also where the target names a host itself.
bool RequestReader::Parts::check_host() {
  const auto& message = parser.get();
  const size_t n_hosts = message.count(beast::http::field::host);
  if (n_hosts > 1) {
    refuse(fmt::format("the request has {} headers Host; expected one", n_hosts));
    return false;
  }
  if (n_hosts == 0 && message.version() >= 11) {
    refuse("the request has no header Host; expected one, such as 'Host: localhost'");
    return false;
  }
  const std::string host(message[beast::http::field::host]);
  if (!is_host(host)) {
    refuse(fmt::format("the request's Host is '{}'; expected HOST or HOST:PORT", host));
    return false;
  }
  return true;
}

void RequestReader::Parts::read_head() {
  if (!check_head()) {
    return;
  }
  const auto& message = parser.get();
  request.method = std::string_view(message.method_string().data(), message.method_string().size());
  const auto target = message.target();
  if (!take_target({target.data(), target.size()})) {
    refuse("the request's target is no path; expected one that begins with '/'");
    return;
  }
  for (const auto& field : message) {
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  wants_continue =
      find_header(request.headers, "Expect") == "100-continue" && message.version() >= 11;
  state = State::kBody;
}

RequestReader::RequestReader(const ReadLimits& limits) : parts_(std::make_unique<Parts>()) {
  parts_->limits = limits;
  parts_->parser.header_limit(static_cast<uint32_t>(limits.head_bytes));
  parts_->parser.body_limit(static_cast<uint64_t>(limits.body_bytes));
}

RequestReader::~RequestReader() = default;

size_t RequestReader::take(std::string_view bytes) {
  Parts& parts = *parts_;
  size_t used = 0;
  while (parts.state == State::kHead || parts.state == State::kBody) {
    const std::string_view rest = bytes.substr(used);
    if (parts.parser.is_done()) {
      parts.request.body = std::move(parts.parser.get().body());
      parts.state = State::kDone;
      break;
    }
    if (rest.empty()) {
      break;
    }
    parts.has_begun = true;
    beast::error_code code;
    const size_t n = parts.parser.put(boost::asio::const_buffer(rest.data(), rest.size()), code);
    used += n;
    if (code && code != beast::http::error::need_more) {
      parts.refuse(code);
      break;
    }
    if (parts.state == State::kHead && parts.parser.is_header_done()) {
      parts.read_head();
      break;
    }
    if (code == beast::http::error::need_more) {
      if (parts.state == State::kBody &&
          std::ssize(rest) - static_cast<int64_t>(n) >= parts.limits.head_bytes) {
        parts.refuse(
            fmt::format("the line of a chunk, or the fields behind the last one, are longer "
                        "than {} bytes; send less",
                        parts.limits.head_bytes),
            431);
      }
      break;
    }
  }
  return used;
}

RequestReader::State RequestReader::state() const {
  return parts_->state;
}

bool RequestReader::has_begun() const {
  return parts_->has_begun;
}

const Request& RequestReader::request() const {
  return parts_->request;
}

Request RequestReader::take_request() {
  return std::move(parts_->request);
}

bool RequestReader::keep_alive() const {
  return parts_->parser.keep_alive();
}

bool RequestReader::is_http_1_0() const {
  return parts_->parser.get().version() < 11;
}

bool RequestReader::wants_continue() const {
  return parts_->wants_continue;
}

bool RequestReader::has_body() const {
  return parts_->parser.chunked() || parts_->parser.content_length().value_or(0) > 0;
}

bool RequestReader::is_body_within(size_t n_bytes) const {
  const auto length = parts_->parser.content_length();
  return length && *length <= n_bytes;
}

const ReadError& RequestReader::error() const {
  return parts_->error;
}

}  // namespace fathom::api::http

// Order: id, preflight, health, key, built-in routes, stage, the handler's routes.
// Read next: api/http/key_ring.h.
#include "api/http/front.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/http/answers.h"

namespace fathom::api::http {

namespace {

constexpr size_t kMaxIdLength = 128;
constexpr const char* kRetrySeconds = "5";

bool is_usable_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdLength &&
         std::all_of(id.begin(), id.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

Response unavailable(std::string_view code, std::string_view message) {
  Response response = error_response(503, code, message);
  response.headers.emplace_back("Retry-After", kRetrySeconds);
  return response;
}

Response wrong_method(const Request& request, const std::string& allowed) {
  Response response = error_response(
      405, "method_not_allowed",
      fmt::format("{} does not go with {}; allowed: {}", request.method, request.path, allowed));
  response.headers.emplace_back("Allow", allowed);
  return response;
}

bool is_get(const Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

bool is_match(std::string_view pattern, std::string_view path) {
  constexpr std::string_view kPart = "/{id}";
  if (!pattern.ends_with(kPart)) {
    return pattern == path;
  }
  const std::string_view begin = pattern.substr(0, pattern.size() - kPart.size() + 1);
  return path.size() > begin.size() && path.starts_with(begin);
}

Front::Front(FrontOptions options)
    : options_(std::move(options)), random_(std::random_device()()) {}

void Front::set_handler(std::shared_ptr<Handler> handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
}

std::shared_ptr<Handler> Front::handler() const {
  const std::lock_guard lock(mutex_);
  return handler_;
}

void Front::set_keys(KeyRing keys) {
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
}

std::string Front::make_id() {
  return fmt::format("req-{:016x}", random_());
}

bool Front::is_allowed_origin(std::string_view origin) const {
  return !origin.empty() && std::any_of(options_.cors_origins.begin(), options_.cors_origins.end(),
                                        [&](const std::string& allowed) {
                                          return allowed == "*" || allowed == origin;
                                        });
}

Headers Front::headers_for(const Request& request) const {
  Headers headers = {{"X-Request-Id", request.id}};
  if (!options_.cors_origins.empty()) {
    headers.emplace_back("Vary", "Origin");
  }
  const std::string_view origin = request.header("Origin");
  if (is_allowed_origin(origin)) {
    headers.emplace_back("Access-Control-Allow-Origin", origin);
    headers.emplace_back("Access-Control-Expose-Headers",
                         "X-Request-Id, Retry-After, Fathom-Ignored");
  }
  return headers;
}

Response Front::ready() const {
  const Stage stage = stage_.load();
  if (stage == Stage::kReady && !is_stuck_.load()) {
    return {.body = R"({"status":"ready"})"};
  }
  std::string_view why = "stuck";
  if (stage != Stage::kReady) {
    why = stage == Stage::kLoading ? "loading" : "draining";
  }
  return {.status = 503,
          .headers = {{"Retry-After", kRetrySeconds}},
          .body = fmt::format(R"({{"status":"{}"}})", why)};
}

std::optional<Response> Front::built_in(const Request& request) const {
  if (request.path != "/metrics" && request.path != "/version") {
    return std::nullopt;
  }
  if (!is_get(request)) {
    return wrong_method(request, "GET, HEAD");
  }
  if (request.path == "/version") {
    return Response{.body = options_.version};
  }
  if (!options_.metrics) {
    return std::nullopt;
  }
  return Response{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = options_.metrics()};
}

std::string_view Front::route_of(const Request& request) const {
  for (const Route& route : handler()->routes()) {
    if (route.method == request.method && is_match(route.path, request.path)) {
      return route.path;
    }
  }
  return {};
}

std::optional<Response> Front::check_route(const Request& request) const {
  const std::shared_ptr<Handler> handler = this->handler();
  std::string allowed;
  for (const Route& route : handler->routes()) {
    if (!is_match(route.path, request.path)) {
      continue;
    }
    if (route.method == request.method) {
      return std::nullopt;
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  if (!allowed.empty()) {
    return wrong_method(request, allowed);
  }
  return error_response(404, "unknown_url",
                        fmt::format("there is no {} {} here; the routes are in docs/serving.md",
                                    request.method, request.path));
}

std::optional<Response> Front::judge(Request& request) {
  const std::string_view given = request.header("X-Request-Id");
  request.id = is_usable_id(given) ? std::string(given) : make_id();
  if (request.method == "OPTIONS" && !request.header("Access-Control-Request-Method").empty()) {
    if (!is_allowed_origin(request.header("Origin"))) {
      return error_response(403, "origin_not_allowed",
                            "pages of this origin may not use the server; start it with "
                            "--cors-origins to allow them");
    }
    const std::string_view asked = request.header("Access-Control-Request-Headers");
    return Response{
        .status = 204,
        .headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                    {"Access-Control-Allow-Headers", asked.empty() ? "*" : std::string(asked)},
                    {"Access-Control-Max-Age", "600"}}};
  }
  if (request.path == "/health" || request.path == "/ready") {
    if (!is_get(request)) {
      return wrong_method(request, "GET, HEAD");
    }
    return request.path == "/ready" ? ready() : Response{.body = R"({"status":"ok"})"};
  }
  {
    const std::lock_guard lock(mutex_);
    if (!keys_.is_empty()) {
      request.key = keys_.find(bearer_key(request.header("Authorization")));
      if (request.key.empty()) {
        Response response = error_response(
            401, "invalid_api_key",
            "no valid API key; expected the header 'Authorization: Bearer KEY' with a key of this "
            "server");
        response.headers.emplace_back("WWW-Authenticate", "Bearer");
        return response;
      }
    }
  }
  if (std::optional<Response> response = built_in(request)) {
    return response;
  }
  switch (stage_.load()) {
    case Stage::kLoading:
      return unavailable("loading", "the model is still being loaded; try again soon");
    case Stage::kDraining:
      return unavailable("draining", "the server is going down; try again, or elsewhere");
    case Stage::kReady:
      break;
  }
  return check_route(request);
}

}  // namespace fathom::api::http

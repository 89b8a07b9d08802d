// One request a line, one answer a line.
// Called by apps/template --jsonl and tests/tools/template_driver.
#include "codec/template_jsonl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/error.h"
#include "codec/jinja_template.h"
#include "codec/json_text.h"

namespace fathom::codec {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxTimes = 1'000'000;

double cpu_microseconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

std::string name_of(const jinja::Origin& origin) {
  switch (origin.kind) {
    case jinja::Origin::Kind::kMessage:
      return fmt::format("message {} {}", origin.message, origin.path);
    case jinja::Origin::Kind::kVariable:
      return "variable " + origin.path;
    case jinja::Origin::Kind::kTemplate:
      break;
  }
  return "template";
}

std::tm parse_time(const std::string& text) {
  std::tm now{};
  if (std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%d", &now.tm_year, &now.tm_mon, &now.tm_mday,
                  &now.tm_hour, &now.tm_min, &now.tm_sec) != 6) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("now: found '{}', expected a time such as 2025-07-04T09:08:07", text));
  }
  now.tm_year -= 1900;
  now.tm_mon -= 1;
  return now;
}

// `line` is the request's text: integers beyond 64 bits are in it only.
Json answer(const Json& request, const std::string& line) {
  const auto source = request.at("source").get<std::string>();
  const jinja::Template parsed = jinja::Template::parse(source);
  jinja::Variables variables;
  variables.set_all(line, "context");
  jinja::RenderOptions options;
  if (request.contains("now") && request.at("now").is_string()) {
    options.now = parse_time(request.at("now").get<std::string>());
  }
  jinja::Rendered rendered = parsed.render(variables, options);
  Json reply = {{"text", rendered.text}};
  if (request.value("spans", false)) {
    for (const jinja::Span& span : rendered.spans) {
      reply["spans"].push_back({span.begin, span.length, name_of(rendered.origins[span.origin])});
    }
  }
  const int64_t n_times = std::min(request.value("times", int64_t{0}), kMaxTimes);
  double least = std::numeric_limits<double>::max();
  for (int64_t i = 0; i < n_times; ++i) {
    const double begin = cpu_microseconds();
    rendered = parsed.render(variables, options);
    least = std::min(least, cpu_microseconds() - begin);
  }
  if (n_times > 0) {
    reply["microseconds"] = least;
  }
  return reply;
}

}  // namespace

std::string answer_template_line(const std::string& line) {
  Json reply;
  Json id;
  try {
    require_shallow(line);
    const Json request = Json::parse(line);
    id = request.is_object() && request.contains("id") ? request.at("id") : Json();
    reply = answer(request, line);
  } catch (const Error& error) {
    reply = {{"error", error.what()}};
  } catch (const Json::exception& error) {
    reply = {{"error", reason_of(error)}};
  }
  reply["id"] = id;
  return reply.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int serve_template_jsonl(std::istream& in, std::ostream& out) {
  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    out << answer_template_line(line) << '\n';
    if (!out.flush()) {
      return 1;
    }
  }
  return in.bad() ? 1 : 0;
}

}  // namespace fathom::codec

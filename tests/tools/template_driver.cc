// A program that renders templates from JSON lines, for comparing the engine with a set of cases.
// Called by hand. Read next: codec/jinja_template.h.
//
//   {"id":0,"source":"{{ x }}","context":{"x":1},"now":"2025-07-04T09:08:07"}
//     -> {"id":0,"text":"1"}  or  {"id":0,"error":"why"}
//
// With the argument "spans" an answer also holds them: [first byte, bytes, origin]. With "time N",
// a line is rendered N times and the answer holds the microseconds of one.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "codec/jinja_template.h"

namespace {

using Json = nlohmann::ordered_json;
namespace jinja = fathom::codec::jinja;

double cpu_microseconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

std::string name_of(const jinja::Origin& origin) {
  switch (origin.kind) {
    case jinja::Origin::Kind::kTemplate:
      return "template";
    case jinja::Origin::Kind::kMessage:
      return "message " + std::to_string(origin.message) + " " + origin.path;
    case jinja::Origin::Kind::kVariable:
      return "variable " + origin.path;
  }
  return "";
}

// `line` is the request's text: integers beyond 64 bits are in it only.
Json answer(const Json& request, const std::string& line, bool with_spans, int n_times) {
  const auto source = request.at("source").get<std::string>();
  const jinja::Template parsed = jinja::Template::parse(source);
  jinja::Variables variables;
  variables.set_all(line, "context");
  jinja::RenderOptions options;
  if (request.contains("now") && request.at("now").is_string()) {
    std::tm now{};
    std::sscanf(request.at("now").get<std::string>().c_str(), "%d-%d-%dT%d:%d:%d", &now.tm_year,
                &now.tm_mon, &now.tm_mday, &now.tm_hour, &now.tm_min, &now.tm_sec);
    now.tm_year -= 1900;
    now.tm_mon -= 1;
    options.now = now;
  }
  jinja::Rendered rendered = parsed.render(variables, options);
  Json reply = {{"text", rendered.text}};
  if (with_spans) {
    for (const jinja::Span& span : rendered.spans) {
      reply["spans"].push_back({span.begin, span.length, name_of(rendered.origins[span.origin])});
    }
  }
  if (n_times > 0) {
    double least = 1e300;
    for (int i = 0; i < n_times; ++i) {
      const double begin = cpu_microseconds();
      rendered = parsed.render(variables, options);
      least = std::min(least, cpu_microseconds() - begin);
    }
    reply["microseconds"] = least;
  }
  return reply;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int n_times = mode == "time" && argc > 2 ? std::atoi(argv[2]) : 0;
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    Json id;
    try {
      const Json request = Json::parse(line);
      id = request.at("id");
      reply = answer(request, line, mode == "spans", n_times);
    } catch (const fathom::Error& error) {
      reply = {{"error", error.what()}};
    } catch (const Json::exception& error) {
      reply = {{"error", error.what()}};
    }
    reply["id"] = id;
    std::cout << reply.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  return 0;
}

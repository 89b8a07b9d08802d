// Source to program, variables to values, runs to spans.
#include "codec/jinja_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/error.h"
#include "codec/jinja_builtins.h"
#include "codec/jinja_json.h"
#include "codec/jinja_parser.h"
#include "codec/jinja_runtime.h"
#include "codec/jinja_scope.h"

namespace fathom::codec::jinja {

namespace {

constexpr std::array<std::string_view, 4> kTokenVariables = {"bos_token", "eos_token", "unk_token",
                                                             "pad_token"};

// An input's place in words.
Origin describe(const Origins& origins, OriginId id) {
  std::vector<const Origins::Node*> path;
  for (OriginId at = id; at != kTemplateOrigin; at = origins.node(at).parent) {
    path.push_back(&origins.node(at));
  }
  Origin origin;
  if (path.empty()) {
    return origin;
  }
  std::reverse(path.begin(), path.end());
  size_t first = 0;
  origin.kind = Origin::Kind::kVariable;
  if (path.size() > 1 && path[0]->key == "messages" && path[1]->index >= 0) {
    origin.kind = Origin::Kind::kMessage;
    origin.message = path[1]->index;
    first = 2;
  }
  for (size_t i = first; i < path.size(); ++i) {
    if (path[i]->index >= 0) {
      origin.path += fmt::format("[{}]", path[i]->index);
    } else {
      origin.path += (origin.path.empty() ? "" : ".") + path[i]->key;
    }
  }
  return origin;
}

// The runs of the output as spans, each input described once.
void add_spans(const Origins& origins, const TextBuilder& out, Rendered& rendered) {
  rendered.origins.emplace_back();
  std::vector<uint32_t> index(origins.size(), 0);
  size_t begin = 0;
  const std::vector<Run> runs = out.runs();
  rendered.spans.reserve(runs.size());
  for (const Run& run : runs) {
    if (run.origin != kTemplateOrigin && index[run.origin] == 0) {
      index[run.origin] = static_cast<uint32_t>(rendered.origins.size());
      rendered.origins.push_back(describe(origins, run.origin));
    }
    rendered.spans.push_back({begin, run.end - begin, index[run.origin]});
    begin = run.end;
  }
}

std::tm with_week_day(std::tm time) {
  std::tm noon = time;
  noon.tm_hour = 12;
  noon.tm_isdst = 0;
  timegm(&noon);  // works out the day of the week and of the year
  time.tm_wday = noon.tm_wday;
  time.tm_yday = noon.tm_yday;
  return time;
}

}  // namespace

struct Variables::Data {
  Origins origins;
  std::map<std::string, Value, std::less<>> values;

  OriginId root(std::string_view name, From from) {
    return from == From::kUser ? origins.add(kTemplateOrigin, name) : kTemplateOrigin;
  }

  void set(std::string_view name, Value value) {
    values.insert_or_assign(std::string(name), std::move(value));
  }
};

Variables::Variables() : data_(std::make_unique<Data>()) {}

Variables::Variables(Variables&&) noexcept = default;
Variables& Variables::operator=(Variables&&) noexcept = default;
Variables::~Variables() = default;

void Variables::set_json(std::string_view name, std::string_view json, From from) {
  const OriginId root = data_->root(name, from);
  data_->set(name, parse_json(json, from == From::kUser ? &data_->origins : nullptr, root, name));
}

void Variables::set_text(std::string_view name, std::string_view text, From from) {
  data_->set(name, Value::string(replace_invalid_utf8(text), data_->root(name, from)));
}

void Variables::set_bool(std::string_view name, bool value) {
  data_->set(name, Value::boolean(value));
}

void Variables::set_all(std::string_view json_object, std::string_view member) {
  Value all = parse_json(json_object, &data_->origins, kTemplateOrigin, "variables");
  if (!member.empty() && all.is(Kind::kDict)) {
    const Value* inner = all.as<DictObject>().find(member);
    all = inner != nullptr ? *inner : Value::none();
    data_->origins.make_root(all.origin());
  }
  if (!all.is(Kind::kDict)) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("variables: found a {}, expected a JSON object", type_name(all)));
  }
  for (const auto& [name, value] : all.as<DictObject>().entries) {
    const bool is_token = std::find(kTokenVariables.begin(), kTokenVariables.end(), name.text()) !=
                          kTokenVariables.end();
    data_->set(name.text(), is_token ? value.with_origin(kTemplateOrigin) : value);
  }
}

Template::Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Template Template::parse(std::string_view source, const Limits& limits) {
  if (source.size() > limits.max_source_bytes) {
    fail(ErrorCode::kResourceExhausted, fmt::format("chat template: {} bytes, at most {}",
                                                    source.size(), limits.max_source_bytes));
  }
  Template result;
  result.limits_ = limits;
  const TokenList tokens = tokenize(source);
  result.program_ = std::make_unique<const Program>(resolve_names(parse_template(tokens)));
  return result;
}

bool Template::reads(std::string_view variable) const {
  const auto& names = program_->context_names;
  return std::find(names.begin(), names.end(), variable) != names.end();
}

Rendered Template::render(const Variables& variables, const RenderOptions& options) const {
  std::vector<Value> context;
  context.reserve(program_->context_names.size());
  for (const std::string& name : program_->context_names) {
    const auto value = variables.data_->values.find(name);
    context.push_back(value != variables.data_->values.end() ? value->second : make_global(name));
  }
  std::tm now{};
  int microsecond = 0;
  if (options.now) {
    now = with_week_day(*options.now);
  } else {
    const auto clock = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(clock);
    localtime_r(&seconds, &now);
    const auto since =
        std::chrono::duration_cast<std::chrono::microseconds>(clock.time_since_epoch());
    microsecond = static_cast<int>(since.count() % 1'000'000);
  }
  TextBuilder out(limits_.max_output_bytes);
  Rendered rendered;
  {
    Runtime runtime(*program_, limits_, std::move(context), now, microsecond);
    runtime.run(out);
    rendered.generated = runtime.generated();
  }
  add_spans(variables.data_->origins, out, rendered);
  rendered.text = out.take_bytes();
  return rendered;
}

}  // namespace fathom::codec::jinja

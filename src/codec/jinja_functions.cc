// The functions that every template has: range, dict, namespace, joiner, cycler, raise_exception,
// strftime_now.
// Called by codec/jinja_template. Read next: codec/jinja_builtins.h.
#include <fmt/format.h>

#include <array>
#include <ctime>

#include "codec/jinja_builtins.h"
#include "codec/jinja_loop.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

constexpr uint64_t kMaxRange = 100'000;  // jinja2's sandbox has the same

Value range(Runtime& runtime, const Bound& args) {
  std::array<int64_t, 3> numbers = {0, 0, 1};
  const size_t n_given = args.has(2) ? 3 : args.has(1) ? 2 : 1;
  for (size_t i = 0; i < n_given; ++i) {
    numbers[i] = int_argument(runtime, args[i], "range()");
  }
  auto* object = new RangeObject;
  Value value(Kind::kRange, object);
  object->start = n_given == 1 ? 0 : numbers[0];
  object->stop = n_given == 1 ? numbers[0] : numbers[1];
  object->step = numbers[2];
  if (object->step == 0) {
    runtime.refuse("range() arg 3 must not be zero");
  }
  const bool is_up = object->step > 0;
  if (is_up ? object->start >= object->stop : object->start <= object->stop) {
    return value;  // nothing
  }
  // Unsigned, for two of 64 bits may be further apart than 63 bits tell.
  const auto start = static_cast<uint64_t>(object->start);
  const auto stop = static_cast<uint64_t>(object->stop);
  const auto step = static_cast<uint64_t>(object->step);
  const uint64_t size = ((is_up ? stop - start : start - stop) - 1) / (is_up ? step : 0 - step) + 1;
  if (size > kMaxRange) {
    runtime.refuse(fmt::format(
        "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMaxRange));
  }
  object->size = static_cast<int64_t>(size);
  return value;
}

// dict(mapping or pairs, **more)
DictObject make_dict(Runtime& runtime, const Bound& args) {
  DictObject dict;
  if (args.has(0) && args[0].is(Kind::kDict)) {
    for (const auto& [key, value] : args[0].as<DictObject>().entries) {
      dict.set(key, value);
    }
  } else if (args.has(0)) {
    Iteration pairs(runtime, args[0]);
    for (Value pair; pairs.next(pair);) {
      const std::vector<Value> both = items_of(runtime, pair);
      if (both.size() != 2) {
        runtime.refuse(fmt::format(
            "dictionary update sequence element has length {}; 2 is required", both.size()));
      }
      dict.set(both[0], both[1]);
    }
  }
  for (const Keyword& keyword : args.extra_keywords) {
    dict.set(Value::string(std::string(keyword.name)), keyword.value);
  }
  return dict;
}

Value namespace_function(Runtime& runtime, const Bound& args) {
  DictObject attributes = make_dict(runtime, args);
  for (const auto& [name, value] : attributes.entries) {
    if (name.is(Kind::kString) && name.text().starts_with('_')) {
      runtime.refuse(
          fmt::format("Chat templates cannot store underscore-prefixed attributes on a "
                      "namespace, but got '{}'",
                      name.text()));
    }
  }
  return runtime.make_namespace(std::move(attributes));
}

Value fromkeys(Runtime& runtime, const Bound& args) {
  auto* dict = new DictObject;
  Value value(Kind::kDict, dict);
  for (const Value& key : items_of(runtime, args[0])) {
    dict->set(key, args.has(1) ? args[1] : Value::none());
  }
  return value;
}

const Signature kFromKeys{"fromkeys", fromkeys, "/,/", 1};

class DictFunction : public SpecialObject {
 public:
  [[nodiscard]] std::string_view type() const override { return "TemplateDict"; }

  [[nodiscard]] bool is_callable() const override { return true; }

  Value attribute(Runtime&, std::string_view name) override {
    return name == "fromkeys" ? make_function(kFromKeys) : Value();
  }

  Value call(Runtime& runtime, const Arguments& arguments) override {
    static const Signature kDict{"dict",
                                 [](Runtime& run, const Bound& args) -> Value {
                                   auto* dict = new DictObject;
                                   Value value(Kind::kDict, dict);
                                   *dict = make_dict(run, args);
                                   return value;
                                 },
                                 "/",
                                 0,
                                 false,
                                 true};
    return call_builtin(runtime, kDict, Value(), arguments);
  }
};

class Joiner : public SpecialObject {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}

  [[nodiscard]] std::string_view type() const override { return "Joiner"; }

  [[nodiscard]] bool is_callable() const override { return true; }

  Value attribute(Runtime&, std::string_view name) override {
    return name == "sep" ? separator_ : name == "used" ? Value::boolean(is_used_) : Value();
  }

  Value call(Runtime&, const Arguments&) override {
    return std::exchange(is_used_, true) ? separator_ : Value::string({});
  }

 private:
  Value separator_;
  bool is_used_ = false;
};

class Cycler : public SpecialObject {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}

  [[nodiscard]] std::string_view type() const override { return "Cycler"; }

  Value attribute(Runtime&, std::string_view name) override {
    static const Signature kNext{"next", [](Runtime&, const Bound& args) {
                                   auto& cycler = args.self.as<Cycler>();
                                   Value item = cycler.items_[cycler.at_];
                                   cycler.at_ = (cycler.at_ + 1) % cycler.items_.size();
                                   return item;
                                 }};
    static const Signature kReset{"reset", [](Runtime&, const Bound& args) {
                                    args.self.as<Cycler>().at_ = 0;
                                    return Value::none();
                                  }};
    if (name == "current") {
      return items_[at_];
    }
    if (name == "next" || name == "reset") {
      retain();
      return make_function(name == "next" ? kNext : kReset, Value(Kind::kObject, this));
    }
    return name == "items" ? Value::tuple(items_)
           : name == "pos" ? Value::integer(static_cast<int64_t>(at_))
                           : Value();
  }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

Value cycler(Runtime& runtime, const Bound& args) {
  if (args.extra.empty()) {
    runtime.refuse("at least one item has to be provided");
  }
  return {Kind::kObject, new Cycler({args.extra.begin(), args.extra.end()})};
}

Value joiner(Runtime&, const Bound& args) {
  return {Kind::kObject, new Joiner(args.has(0) ? args[0] : Value::string(", "))};
}

Value raise_exception(Runtime& runtime, const Bound& args) {
  runtime.refuse_by_template(to_text(runtime, args[0]).text());
}

// Python's own directives are put in first; the C library does the others.
Value strftime_now(Runtime& runtime, const Bound& args) {
  if (!args[0].is(Kind::kString)) {
    runtime.refuse(fmt::format("strftime() argument 1 must be str, not {}", type_name(args[0])));
  }
  const std::string_view given = args[0].text();
  std::string format = " ";  // so that an empty result is not taken for a buffer that is too small
  for (size_t i = 0; i < given.size(); ++i) {
    const char next = given[i] == '%' && i + 1 < given.size() ? given[i + 1] : '\0';
    if (given[i] == '\0') {
      break;
    }
    if (next == 'f') {
      format += fmt::format("{:06d}", runtime.microsecond());
    } else if (next != 'z' && next != 'Z') {
      format += given.substr(i, next == '\0' ? 1 : 2);
    }
    i += next == '\0' ? 0 : 1;
  }
  if (format.size() > 4096) {
    runtime.refuse("strftime_now: a format of more than 4096 bytes");
  }
  std::string out(256 + format.size() * 32, '\0');
  const std::tm now = runtime.now();
  const size_t size = std::strftime(out.data(), out.size(), format.c_str(), &now);
  out.resize(size);
  return Value::string(size > 0 ? out.substr(1) : out, args[0].origin());
}

// `self` of templates: self.name() renders a block.
class BlockFunction : public SpecialObject {
 public:
  explicit BlockFunction(std::string_view name) : name_(name) {}

  [[nodiscard]] std::string_view type() const override { return "BlockReference"; }

  [[nodiscard]] bool is_callable() const override { return true; }

  Value call(Runtime& runtime, const Arguments&) override { return runtime.render_block(name_); }

 private:
  std::string name_;
};

class SelfObject : public SpecialObject {
 public:
  [[nodiscard]] std::string_view type() const override { return "TemplateReference"; }

  Value attribute(Runtime& runtime, std::string_view name) override {
    return runtime.has_block(name) ? Value(Kind::kObject, new BlockFunction(name)) : Value();
  }
};

constexpr std::array<Signature, 6> kFunctions = {{
    {"range", range, "/,/,/", 1},
    {"namespace", namespace_function, "/", 0, false, true},
    {"joiner", joiner, "sep", 0},
    {"cycler", cycler, "", 0, true},
    {"raise_exception", raise_exception, "message", 1},
    {"strftime_now", strftime_now, "format", 1},
}};

}  // namespace

Value Runtime::make_namespace(DictObject attributes) {
  auto* object = new NamespaceObject;
  object->attributes = std::move(attributes);
  object->track(tracked_);
  return {Kind::kNamespace, object};
}

Value make_global(std::string_view name) {
  if (name == "dict") {
    return {Kind::kObject, new DictFunction};
  }
  if (name == "self") {
    return {Kind::kObject, new SelfObject};
  }
  for (const Signature& function : kFunctions) {
    if (function.name == name) {
      return make_function(function);
    }
  }
  return {};
}

}  // namespace fathom::codec::jinja

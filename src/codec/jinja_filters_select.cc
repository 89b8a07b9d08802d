// map, select, reject, selectattr, rejectattr: they give their items one by one, when asked, and
// what a later item would refuse is not met when nobody asks for it. Called by
// codec/jinja_builtins. Read next: codec/jinja_filters_list.cc.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "codec/jinja_builtins.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

// Arguments that outlive the call that brought them.
struct Kept {
  std::vector<Value> positional;
  std::vector<Keyword> keywords;

  explicit Kept(const Bound& args, size_t n_dropped)
      : keywords(args.extra_keywords.begin(), args.extra_keywords.end()) {
    for (size_t i = n_dropped; i < args.extra.size(); ++i) {
      positional.push_back(args.extra[i]);
    }
  }

  [[nodiscard]] Arguments view() const { return {positional, keywords}; }
};

Value nothing() {
  return make_iterator([](Runtime&, Value&) { return false; });
}

std::string name_argument(Runtime& runtime, const Value& value, std::string_view kind) {
  if (!value.is(Kind::kString)) {
    runtime.refuse(fmt::format("No {} named {}.", kind, to_text(runtime, value).text()));
  }
  return std::string(value.text());
}

Value map(Runtime& runtime, const Bound& args) {
  if (!is_true(args.self)) {
    return nothing();
  }
  auto items = std::make_shared<Iteration>(runtime, args.self);
  Value attribute;
  Value fallback;
  if (args.extra.empty()) {
    for (const Keyword& keyword : args.extra_keywords) {
      if (keyword.name == "attribute") {
        attribute = keyword.value;
      } else if (keyword.name == "default") {
        fallback = keyword.value;
      } else {
        runtime.refuse(fmt::format("Unexpected keyword argument '{}'", keyword.name));
      }
    }
    if (attribute.is_missing()) {
      runtime.refuse("map requires a filter argument");
    }
    const bool has_fallback = !fallback.is_missing() && !fallback.is(Kind::kNone);
    return make_iterator([items, attribute, fallback, has_fallback](Runtime& run, Value& item) {
      if (!items->next(item)) {
        return false;
      }
      item = follow_path(run, item, attribute, has_fallback ? &fallback : nullptr);
      return true;
    });
  }
  return make_iterator([items, name = name_argument(runtime, args.extra[0], "filter"),
                        kept = Kept(args, 1)](Runtime& run, Value& item) {
    if (!items->next(item)) {
      return false;
    }
    item = run.call_filter(name, item, kept.view());
    return true;
  });
}

Value choose(Runtime& runtime, const Bound& args, bool want, bool by_attribute) {
  if (!is_true(args.self)) {
    return nothing();
  }
  const size_t n_attributes = by_attribute ? 1 : 0;
  if (args.extra.size() < n_attributes) {
    runtime.refuse("Missing parameter for attribute name");
  }
  const Value attribute = by_attribute ? args.extra[0] : Value();
  const bool has_test = args.extra.size() > n_attributes;
  const std::string test = has_test ? name_argument(runtime, args.extra[n_attributes], "test") : "";
  auto items = std::make_shared<Iteration>(runtime, args.self);
  return make_iterator([items, attribute, test, want, kept = Kept(args, n_attributes + 1)](
                           Runtime& run, Value& item) {
    while (items->next(item)) {
      const Value value =
          attribute.is_missing() ? item : follow_path(run, item, attribute, nullptr);
      const bool holds = test.empty() ? is_true(value) : run.call_test(test, value, kept.view());
      if (holds == want) {
        return true;
      }
    }
    return false;
  });
}

Value select(Runtime& runtime, const Bound& args) {
  return choose(runtime, args, true, false);
}

Value reject(Runtime& runtime, const Bound& args) {
  return choose(runtime, args, false, false);
}

Value selectattr(Runtime& runtime, const Bound& args) {
  return choose(runtime, args, true, true);
}

Value rejectattr(Runtime& runtime, const Bound& args) {
  return choose(runtime, args, false, true);
}

constexpr std::array<Signature, 5> kFilters = {{
    {"map", map, "", 0, true, true},
    {"reject", reject, "", 0, true, true},
    {"rejectattr", rejectattr, "", 0, true, true},
    {"select", select, "", 0, true, true},
    {"selectattr", selectattr, "", 0, true, true},
}};

}  // namespace

std::span<const Signature> select_filters() {
  return kFilters;
}

}  // namespace fathom::codec::jinja

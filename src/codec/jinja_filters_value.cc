// Filters on numbers and on any value: conversions, default, tojson.
// Called by codec/jinja_builtins. Read next: codec/jinja_json.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "codec/jinja_builtins.h"
#include "codec/jinja_json.h"
#include "codec/jinja_number.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_pretty.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

Value abs_filter(Runtime& runtime, const Bound& args) {
  const Value& number = args.self;
  if (!number.is_number()) {
    runtime.refuse(fmt::format("bad operand type for abs(): '{}'", type_name(number)));
  }
  if (number.is(Kind::kFloat)) {
    return Value::real(std::fabs(number.as_float())).with_origin(number.origin());
  }
  return as_big(number).is_negative() ? negative(runtime, number) : positive(runtime, number);
}

Value attr(Runtime& runtime, const Bound& args) {
  if (!args[0].is(Kind::kString)) {
    runtime.refuse("attr: expected the name of an attribute");
  }
  const std::string_view name = args[0].text();
  if (args.self.is(Kind::kDict) && find_method(Kind::kDict, name) == nullptr &&
      !is_unsafe_attribute(Kind::kDict, name)) {
    return Value::undefined_attribute("dict", name);  // never the item of this name
  }
  return runtime.attribute(args.self, name);
}

Value default_filter(Runtime&, const Bound& args) {
  const bool is_absent =
      args.self.is(Kind::kUndefined) || (args.has(1) && is_true(args[1]) && !is_true(args.self));
  if (!is_absent) {
    return args.self;
  }
  return args.has(0) ? args[0] : Value::string({});
}

// What int() and float() refuse differently from text that is no number.
void refuse_undefined(Runtime& runtime, const Value& value) {
  if (value.is(Kind::kUndefined)) {
    runtime.refuse_undefined(value);
  }
}

Value int_filter(Runtime& runtime, const Bound& args) {
  refuse_undefined(runtime, args.self);
  const Value fallback = args.has(0) ? args[0] : Value::integer(int64_t{0});
  if (args.self.is(Kind::kString)) {
    const int64_t base = args.has(1) ? int_argument(runtime, args[1], "int") : 10;
    Value number = parse_integer(runtime, args.self.text(), base);
    if (number.is_missing()) {
      double real = 0;
      if (parse_float(args.self.text(), real) && std::isfinite(real)) {
        number = Value::integer(BigInt::from_double(real));
      }
    }
    return number.is_missing() ? fallback : number.with_origin(args.self.origin());
  }
  if (args.self.is(Kind::kFloat)) {
    const double real = args.self.as_float();
    if (std::isinf(real)) {
      runtime.refuse("cannot convert float infinity to integer");
    }
    return std::isnan(real)
               ? fallback
               : Value::integer(BigInt::from_double(real)).with_origin(args.self.origin());
  }
  return args.self.is_integer() ? positive(runtime, args.self) : fallback;
}

Value float_filter(Runtime& runtime, const Bound& args) {
  refuse_undefined(runtime, args.self);
  double real = 0;
  if (args.self.is_number()) {
    real = as_double(args.self);
    if (std::isinf(real) && !args.self.is(Kind::kFloat)) {
      runtime.refuse("int too large to convert to float");
    }
  } else if (!args.self.is(Kind::kString) || !parse_float(args.self.text(), real)) {
    return args.has(0) ? args[0] : Value::real(0);
  }
  return Value::real(real).with_origin(args.self.origin());
}

Value round_filter(Runtime& runtime, const Bound& args) {
  const Value& number = args.self;
  const std::string_view method =
      args.has(1) && args[1].is(Kind::kString) ? args[1].text() : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    runtime.refuse("method must be common, ceil or floor");
  }
  if (!number.is_number()) {
    runtime.refuse(fmt::format("type {} doesn't define __round__ method", type_name(number)));
  }
  const bool has_precision = args.has(0) && !args[0].is(Kind::kNone);
  const int64_t precision = has_precision ? int_argument(runtime, args[0], "round") : 0;
  const bool to_integer = args.has(0) && !has_precision;
  if (method != "common") {
    const Value scale =
        binary(runtime, Operator::kPower, Value::integer(int64_t{10}), Value::integer(precision));
    const double scaled = as_double(binary(runtime, Operator::kMultiply, number, scale));
    if (!std::isfinite(scaled)) {
      runtime.refuse("cannot convert float infinity or NaN to integer");
    }
    // Python's ceil and floor give integers, which have no negative zero.
    const double whole = (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) + 0.0;
    return Value::real(whole / as_double(scale)).with_origin(number.origin());
  }
  if (number.is(Kind::kFloat)) {
    const double rounded = round_float(number.as_float(), precision);
    return to_integer ? Value::integer(BigInt::from_double(rounded))
                      : Value::real(rounded).with_origin(number.origin());
  }
  return precision >= 0 ? positive(runtime, number) : round_integer(runtime, number, -precision);
}

void read_separators(Runtime& runtime, const Value& given, JsonStyle& style) {
  if (given.is_missing() || given.is(Kind::kNone)) {
    return;
  }
  const std::vector<Value> both = items_of(runtime, given);
  if (both.size() != 2 || !both[0].is(Kind::kString) || !both[1].is(Kind::kString)) {
    runtime.refuse("tojson: separators must be two strings");
  }
  style.item_separator = both[0].text();
  style.key_separator = both[1].text();
}

Value tojson(Runtime& runtime, const Bound& args) {
  JsonStyle style;
  style.ensure_ascii = is_true(args[0]);
  style.sort_keys = is_true(args[3]);
  if (args.has(1) && !args[1].is(Kind::kNone)) {
    style.has_indent = true;
    style.item_separator = ",";
    if (args[1].is(Kind::kString)) {
      style.indent = args[1].text();
    } else {
      const int64_t width = int_argument(runtime, args[1], "tojson");
      if (width > 1000) {
        runtime.refuse("tojson: an indent of more than 1000");
      }
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  read_separators(runtime, args[2], style);
  return dump_json(runtime, args.self, style);
}

Value pprint(Runtime& runtime, const Bound& args) {
  return pretty(runtime, args.self);
}

Value filesizeformat(Runtime& runtime, const Bound& args) {
  double bytes = 0;
  if (args.self.is_number()) {
    bytes = as_double(args.self);
  } else if (!args.self.is(Kind::kString) || !parse_float(args.self.text(), bytes)) {
    runtime.refuse(
        fmt::format("filesizeformat: expected a number, found '{}'", type_name(args.self)));
  }
  const bool binary_units = args.has(0) && is_true(args[0]);
  const double base = binary_units ? 1024 : 1000;
  if (bytes == 1) {
    return Value::string("1 Byte");
  }
  if (bytes < base) {
    return Value::string(fmt::format("{:.0f} Bytes", std::trunc(bytes)));
  }
  constexpr std::string_view kLetters = "kMGTPEZY";
  double unit = base;
  size_t i = 0;
  while (i + 1 < kLetters.size() && bytes >= unit * base) {
    unit *= base;
    ++i;
  }
  const char letter = binary_units && i == 0 ? 'K' : kLetters[i];
  return Value::string(fmt::format("{:.1f} {}{}B", bytes / unit, letter, binary_units ? "i" : ""));
}

constexpr std::array<Signature, 10> kFilters = {{
    {"abs", abs_filter},
    {"attr", attr, "name", 1},
    {"d", default_filter, "default_value,boolean"},
    {"default", default_filter, "default_value,boolean"},
    {"filesizeformat", filesizeformat, "binary"},
    {"float", float_filter, "default"},
    {"int", int_filter, "default,base"},
    {"pprint", pprint},
    {"round", round_filter, "precision,method"},
    {"tojson", tojson, "ensure_ascii,indent,separators,sort_keys"},
}};

}  // namespace

std::span<const Signature> value_filters() {
  return kFilters;
}

}  // namespace fathom::codec::jinja

// The tests after `is`.
// Called by codec/jinja_builtins. Read next: codec/jinja_operators.h.
#include <fmt/format.h>

#include <array>

#include "codec/jinja_builtins.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

Value remainder_is(Runtime& runtime, const Value& value, const Value& divisor, int64_t expected) {
  // A string would be taken for a pattern: "%" is that operator too.
  const Value rest = binary(runtime, Operator::kModulo, value, divisor);
  return Value::boolean(equal(runtime, rest, Value::integer(expected)));
}

Value odd(Runtime& runtime, const Bound& args) {
  return remainder_is(runtime, args.self, Value::integer(int64_t{2}), 1);
}

Value even(Runtime& runtime, const Bound& args) {
  return remainder_is(runtime, args.self, Value::integer(int64_t{2}), 0);
}

Value divisibleby(Runtime& runtime, const Bound& args) {
  return remainder_is(runtime, args.self, args[0], 0);
}

Value defined(Runtime&, const Bound& args) {
  return Value::boolean(!args.self.is(Kind::kUndefined));
}

template <Kind kKind>
Value is_kind(Runtime&, const Bound& args) {
  return Value::boolean(args.self.is(kKind));
}

template <bool kWant>
Value is_bool(Runtime&, const Bound& args) {
  return Value::boolean(args.self.is(Kind::kBool) && args.self.as_bool() == kWant);
}

Value integer(Runtime&, const Bound& args) {
  return Value::boolean(args.self.is(Kind::kInt) || args.self.is(Kind::kBigInt));
}

Value number(Runtime&, const Bound& args) {
  return Value::boolean(args.self.is_number());
}

template <bool kUpper>
Value has_case(Runtime& runtime, const Bound& args) {
  return Value::boolean(has_only_case(text_argument(runtime, args.self).text(), kUpper));
}

Value sequence(Runtime&, const Bound& args) {
  int64_t n = 0;
  return Value::boolean(find_length(args.self, n) && !args.self.is(Kind::kView));
}

Value iterable(Runtime&, const Bound& args) {
  return Value::boolean(is_iterable(args.self));
}

Value callable(Runtime&, const Bound& args) {
  return Value::boolean(
      args.self.is(Kind::kUndefined) ||
      (args.self.is(Kind::kObject) && args.self.as<SpecialObject>().is_callable()));
}

Value sameas(Runtime&, const Bound& args) {
  const Value& other = args[0];
  if (args.self.kind() != other.kind()) {
    return Value::boolean(false);
  }
  switch (other.kind()) {
    case Kind::kNone:
      return Value::boolean(true);
    case Kind::kBool:
    case Kind::kInt:  // Python keeps one object for each small number
      return Value::boolean(args.self.as_int() == other.as_int());
    case Kind::kFloat:
      return Value::boolean(args.self.as_float() == other.as_float());
    case Kind::kString:  // equal texts of a template are one object there, most often
      return Value::boolean(args.self.text() == other.text());
    case Kind::kTuple:
      return Value::boolean(args.self.object() == other.object() ||
                            (args.self.as<SequenceObject>().items.empty() &&
                             other.as<SequenceObject>().items.empty()));
    default:
      return Value::boolean(args.self.object() == other.object());
  }
}

Value escaped(Runtime&, const Bound& args) {
  return Value::boolean(args.self.is(Kind::kString) && args.self.as<StringObject>().is_markup);
}

Value in(Runtime& runtime, const Bound& args) {
  return Value::boolean(contains(runtime, args[0], args.self));
}

template <Operator kOp>
Value compares(Runtime& runtime, const Bound& args) {
  return Value::boolean(compare(runtime, kOp, args.self, args[0]));
}

template <const Signature* (*kFind)(std::string_view)>
Value is_known(Runtime&, const Bound& args) {
  static_cast<void>(hash_of(args.self));  // it is looked for in a dict: a list is refused
  return Value::boolean(args.self.is(Kind::kString) && kFind(args.self.text()) != nullptr);
}

constexpr auto kEqual = compares<Operator::kEqual>;
constexpr auto kNotEqual = compares<Operator::kNotEqual>;
constexpr auto kGreater = compares<Operator::kGreater>;
constexpr auto kGreaterEqual = compares<Operator::kGreaterEqual>;
constexpr auto kLess = compares<Operator::kLess>;
constexpr auto kLessEqual = compares<Operator::kLessEqual>;

constexpr std::array<Signature, 39> kTests = {{
    {"!=", kNotEqual, "/", 1},
    {"<", kLess, "/", 1},
    {"<=", kLessEqual, "/", 1},
    {"==", kEqual, "/", 1},
    {">", kGreater, "/", 1},
    {">=", kGreaterEqual, "/", 1},
    {"boolean", is_kind<Kind::kBool>},
    {"callable", callable},
    {"defined", defined},
    {"divisibleby", divisibleby, "num", 1},
    {"eq", kEqual, "/", 1},
    {"equalto", kEqual, "/", 1},
    {"escaped", escaped},
    {"even", even},
    {"false", is_bool<false>},
    {"filter", is_known<find_filter>},
    {"float", is_kind<Kind::kFloat>},
    {"ge", kGreaterEqual, "/", 1},
    {"greaterthan", kGreater, "/", 1},
    {"gt", kGreater, "/", 1},
    {"in", in, "seq", 1},
    {"integer", integer},
    {"iterable", iterable},
    {"le", kLessEqual, "/", 1},
    {"lessthan", kLess, "/", 1},
    {"lower", has_case<false>},
    {"lt", kLess, "/", 1},
    {"mapping", is_kind<Kind::kDict>},
    {"ne", kNotEqual, "/", 1},
    {"none", is_kind<Kind::kNone>},
    {"number", number},
    {"odd", odd},
    {"sameas", sameas, "other", 1},
    {"sequence", sequence},
    {"string", is_kind<Kind::kString>},
    {"test", is_known<find_test>},
    {"true", is_bool<true>},
    {"undefined", is_kind<Kind::kUndefined>},
    {"upper", has_case<true>},
}};

}  // namespace

std::span<const Signature> tests() {
  return kTests;
}

}  // namespace fathom::codec::jinja

// Arithmetic of numbers, and what + * % do to strings and lists.
#include "codec/jinja_operators.h"

#include <fmt/format.h>

#include <cmath>

#include "codec/jinja_format.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

constexpr size_t kMaxListItems = 4'000'000;
constexpr size_t kMaxBits = 100'000;  // of an integer

std::string_view symbol(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return "+";
    case Operator::kSubtract:
      return "-";
    case Operator::kMultiply:
      return "*";
    case Operator::kDivide:
      return "/";
    case Operator::kFloorDivide:
      return "//";
    case Operator::kModulo:
      return "%";
    case Operator::kPower:
      return "** or pow()";
    default:
      return "?";
  }
}

[[noreturn]] void refuse_operands(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (value->is(Kind::kUndefined)) {
      runtime.refuse_undefined(*value);
    }
  }
  if (op == Operator::kAdd && (a.is(Kind::kString) || a.is(Kind::kList) || a.is(Kind::kTuple))) {
    runtime.refuse(fmt::format("can only concatenate {} (not \"{}\") to {}", type_name(a),
                               type_name(b), type_name(a)));
  }
  runtime.refuse(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol(op),
                             type_name(a), type_name(b)));
}

Value float_arithmetic(Runtime& runtime, Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd:
      return Value::real(a + b);
    case Operator::kSubtract:
      return Value::real(a - b);
    case Operator::kMultiply:
      return Value::real(a * b);
    case Operator::kPower: {
      if (a == 0 && b < 0) {
        runtime.refuse("0.0 cannot be raised to a negative power");
      }
      const double power = std::pow(a, b);
      if (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) {
        runtime.refuse("a negative number to a fractional power is complex");
      }
      if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) {
        runtime.refuse("(34, 'Numerical result out of range')");
      }
      return Value::real(power);
    }
    default:
      break;
  }
  if (b == 0) {
    runtime.refuse(op == Operator::kDivide ? "float division by zero" : "float modulo by zero");
  }
  if (op == Operator::kDivide) {
    return Value::real(a / b);
  }
  double rest = std::fmod(a, b);  // to the divisor's sign, as the quotient is rounded down
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) {
    rest += b;
    quotient -= 1;
  } else if (rest == 0) {
    rest = std::copysign(0.0, b);
  }
  if (op == Operator::kModulo) {
    return Value::real(rest);
  }
  if (quotient == 0) {
    return Value::real(std::copysign(0.0, a / b));
  }
  const double rounded = std::floor(quotient);
  return Value::real(quotient - rounded > 0.5 ? rounded + 1 : rounded);
}

Value big_arithmetic(Runtime& runtime, Operator op, const BigInt& a, const BigInt& b) {
  runtime.charge((a.bits() + b.bits()) / 8);
  if (op == Operator::kAdd) {
    return Value::integer(a + b);
  }
  if (op == Operator::kSubtract) {
    return Value::integer(a - b);
  }
  if (op == Operator::kMultiply) {
    if (a.bits() + b.bits() > kMaxBits) {
      runtime.refuse(fmt::format("an integer of more than {} bits", kMaxBits));
    }
    runtime.charge(a.bits() * b.bits() / 1024);
    return Value::integer(a * b);
  }
  if (b.is_zero()) {
    runtime.refuse(op == Operator::kDivide ? "division by zero"
                                           : "integer division or modulo by zero");
  }
  if (op == Operator::kDivide) {
    // Exact in Python; a double of each is exact enough beyond 64 bits for every known template.
    return Value::real(a.as_double() / b.as_double());
  }
  runtime.charge(a.bits() * (b.bits() + 64) / 256);
  BigInt quotient;
  BigInt rest;
  BigInt::divide(a, b, quotient, rest);
  return Value::integer(op == Operator::kModulo ? rest : quotient);
}

Value big_power(Runtime& runtime, const Value& base, const Value& exponent) {
  int64_t n = 0;
  const BigInt big = as_big(base);
  if (!find_int(exponent, n) || n < 0) {
    return float_arithmetic(runtime, Operator::kPower, as_double(base), as_double(exponent));
  }
  if (big.bits() > 1 && static_cast<uint64_t>(n) > kMaxBits / (big.bits() - 1)) {
    runtime.refuse(fmt::format("an integer of more than {} bits", kMaxBits));
  }
  if (big.bits() <= 1) {  // 0, 1 and -1
    n = n == 0 ? 0 : 2 - n % 2;
  }
  BigInt result(1);
  for (BigInt square = big; n > 0; n /= 2) {
    runtime.charge(result.bits() * square.bits() / 1024 + 1);
    if (n % 2 == 1) {
      result = result * square;
    }
    if (n > 1) {
      square = square * square;
    }
  }
  return Value::integer(result);
}

Value integer_arithmetic(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  int64_t x = 0;
  int64_t y = 0;
  int64_t result = 0;
  if (op == Operator::kPower) {
    return big_power(runtime, a, b);
  }
  if (!find_int(a, x) || !find_int(b, y)) {
    return big_arithmetic(runtime, op, as_big(a), as_big(b));
  }
  switch (op) {
    case Operator::kAdd:
      if (!__builtin_add_overflow(x, y, &result)) {
        return Value::integer(result);
      }
      break;
    case Operator::kSubtract:
      if (!__builtin_sub_overflow(x, y, &result)) {
        return Value::integer(result);
      }
      break;
    case Operator::kMultiply:
      if (!__builtin_mul_overflow(x, y, &result)) {
        return Value::integer(result);
      }
      break;
    case Operator::kFloorDivide:
    case Operator::kModulo:
      if (y != 0 && y != -1) {
        const int64_t rest = x % y;
        const bool is_down = rest != 0 && (rest < 0) != (y < 0);
        return Value::integer(op == Operator::kModulo ? rest + (is_down ? y : 0)
                                                      : x / y - (is_down ? 1 : 0));
      }
      break;
    default:
      break;
  }
  return big_arithmetic(runtime, op, BigInt(x), BigInt(y));
}

Value repeat(Runtime& runtime, const Value& sequence, const Value& times) {
  int64_t n = 0;
  if (!find_int(times, n)) {
    runtime.refuse("cannot fit 'int' into an index-sized integer");
  }
  n = std::max<int64_t>(n, 0);
  if (sequence.is(Kind::kString)) {
    TextBuilder out;
    runtime.charge(sequence.text().empty() ? 0 : static_cast<size_t>(n));
    for (int64_t i = 0; i < n && !sequence.text().empty(); ++i) {
      out.append(sequence);
    }
    return like_markup(sequence, out.take());
  }
  const auto& items = sequence.as<SequenceObject>().items;
  if (!items.empty() && static_cast<uint64_t>(n) > kMaxListItems / items.size()) {
    runtime.refuse(fmt::format("a list of more than {} items", kMaxListItems));
  }
  std::vector<Value> out;
  out.reserve(items.size() * static_cast<size_t>(n));
  for (int64_t i = 0; i < n && !items.empty(); ++i) {
    out.insert(out.end(), items.begin(), items.end());
  }
  runtime.charge(out.size());
  return sequence.is(Kind::kList) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

// Counts the work of a list that is put together.
void require_list_size(Runtime& runtime, size_t n_items) {
  if (n_items > kMaxListItems) {
    runtime.refuse(fmt::format("a list of more than {} items", kMaxListItems));
  }
  runtime.charge(n_items);
}

Value join(Runtime& runtime, const Value& a, const Value& b) {
  if (a.is(Kind::kString)) {
    const bool is_safe = is_markup(a) || is_markup(b);
    TextBuilder out;
    out.reserve(a.text().size() + b.text().size());
    out.append(is_safe ? escape_html(a) : a);
    out.append(is_safe ? escape_html(b) : b);
    return is_safe ? as_markup(out.take()) : out.take();
  }
  const auto& first = a.as<SequenceObject>().items;
  const auto& more = b.as<SequenceObject>().items;
  require_list_size(runtime, first.size() + more.size());
  std::vector<Value> items;
  items.reserve(first.size() + more.size());
  items.insert(items.end(), first.begin(), first.end());
  items.insert(items.end(), more.begin(), more.end());
  return a.is(Kind::kList) ? Value::list(std::move(items), a.origin())
                           : Value::tuple(std::move(items));
}

bool is_sequence(const Value& value) {
  return value.is(Kind::kString) || value.is(Kind::kList) || value.is(Kind::kTuple);
}

}  // namespace

double as_double(const Value& number) {
  if (number.is(Kind::kFloat)) {
    return number.as_float();
  }
  return number.is(Kind::kBigInt) ? number.as<BigIntObject>().value.as_double()
                                  : static_cast<double>(number.as_int());
}

BigInt as_big(const Value& integer) {
  return integer.is(Kind::kBigInt) ? integer.as<BigIntObject>().value : BigInt(integer.as_int());
}

bool find_int(const Value& value, int64_t& number) {
  if (!value.is(Kind::kInt) && !value.is(Kind::kBool)) {
    return false;
  }
  number = value.as_int();
  return true;
}

Value binary(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    Value result;
    if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
      result = float_arithmetic(runtime, op, as_double(a), as_double(b));
    } else if (op == Operator::kDivide && !a.is(Kind::kBigInt) && !b.is(Kind::kBigInt)) {
      if (b.as_int() == 0) {
        runtime.refuse("division by zero");
      }
      // Beyond 53 bits Python rounds the exact quotient; 64 bits come close enough to it.
      result = Value::real(static_cast<double>(static_cast<long double>(a.as_int()) /
                                               static_cast<long double>(b.as_int())));
    } else {
      result = integer_arithmetic(runtime, op, a, b);
    }
    const OriginId origin = a.origin() != kTemplateOrigin ? a.origin() : b.origin();
    return origin == kTemplateOrigin ? result : result.with_origin(origin);
  }
  if (op == Operator::kModulo && a.is(Kind::kString)) {
    return format_percent(runtime, a, b);
  }
  if (op == Operator::kMultiply && is_sequence(a) && b.is_integer()) {
    return repeat(runtime, a, b);
  }
  if (op == Operator::kMultiply && is_sequence(b) && a.is_integer()) {
    return repeat(runtime, b, a);
  }
  if (op == Operator::kAdd && is_sequence(a) && a.kind() == b.kind()) {
    return join(runtime, a, b);
  }
  refuse_operands(runtime, op, a, b);
}

Value add(Runtime& runtime, Value a, const Value& b) {
  if (!a.is_object() || a.kind() != b.kind() || !a.object()->is_unique()) {
    return binary(runtime, Operator::kAdd, a, b);
  }
  if (a.is(Kind::kString) && !is_markup(a) && !is_markup(b)) {
    TextBuilder out;
    out.start_with(std::move(a));
    out.append(b);
    return out.take();
  }
  if (a.is(Kind::kList)) {
    auto& items = a.as<SequenceObject>().items;
    const auto& more = b.as<SequenceObject>().items;
    require_list_size(runtime, items.size() + more.size());
    items.insert(items.end(), more.begin(), more.end());
    return a;
  }
  return binary(runtime, Operator::kAdd, a, b);
}

Value negative(Runtime& runtime, const Value& value) {
  if (value.is(Kind::kFloat)) {
    return Value::real(-value.as_float()).with_origin(value.origin());
  }
  if (value.is_integer()) {
    return Value::integer(as_big(value).negated()).with_origin(value.origin());
  }
  if (value.is(Kind::kUndefined)) {
    runtime.refuse_undefined(value);
  }
  runtime.refuse(fmt::format("bad operand type for unary -: '{}'", type_name(value)));
}

Value positive(Runtime& runtime, const Value& value) {
  if (value.is(Kind::kBool)) {
    return Value::integer(value.as_int());
  }
  if (value.is_number()) {
    return value;
  }
  if (value.is(Kind::kUndefined)) {
    runtime.refuse_undefined(value);
  }
  runtime.refuse(fmt::format("bad operand type for unary +: '{}'", type_name(value)));
}

}  // namespace fathom::codec::jinja

// Digits are looked at before the C library sees them: it accepts more than Python does.
#include "codec/jinja_number.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "codec/jinja_operators.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = skip_space(text, 0, text.size());
  return text.substr(begin, skip_space_back(text, begin, text.size()) - begin);
}

// Takes single '_' between digits out; false where one stands elsewhere.
bool drop_underscores(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const bool is_between = i > 0 && i + 1 < text.size() && std::isalnum(text[i - 1]) != 0 &&
                            std::isalnum(text[i + 1]) != 0;
    if (!is_between) {
      return false;
    }
  }
  return true;
}

int64_t base_of_prefix(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') {
    return 0;
  }
  switch (digits[1] | 0x20) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 0;
  }
}

}  // namespace

Value parse_integer(Runtime& runtime, std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) {
    runtime.refuse("int() base must be >= 2 and <= 36, or 0");
  }
  std::string_view rest = trimmed(text);
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) {
    rest.remove_prefix(1);
  }
  const int64_t prefix = base_of_prefix(rest);
  if (prefix != 0 && (base == 0 || base == prefix)) {
    base = prefix;
    rest.remove_prefix(2);
    if (rest.starts_with('_')) {
      rest.remove_prefix(1);
    }
  } else if (base == 0) {
    if (rest.size() > 1 && rest[0] == '0' && rest.find_first_not_of("0_") != rest.npos) {
      return {};
    }
    base = 10;
  }
  std::string digits;
  if (!drop_underscores(rest, digits) || digits.size() > 4300) {
    return {};
  }
  runtime.charge(digits.size() * digits.size() / 64);
  const auto number = BigInt::parse(digits, static_cast<uint32_t>(base));
  if (!number) {
    return {};
  }
  return Value::integer(is_negative ? number->negated() : *number);
}

bool parse_float(std::string_view text, double& number) {
  std::string digits;
  if (!drop_underscores(trimmed(text), digits) || digits.empty()) {
    return false;
  }
  const size_t sign = digits[0] == '-' || digits[0] == '+' ? 1 : 0;
  const std::string word = to_lower(std::string_view(digits).substr(sign));
  if (word == "inf" || word == "infinity" || word == "nan") {
    number = word == "nan" ? std::nan("") : HUGE_VAL;
    number = digits[0] == '-' ? -number : number;
    return true;
  }
  bool has_digit = false;
  for (const char c : word) {
    has_digit = has_digit || is_ascii_digit(c);
    if (!is_ascii_digit(c) && c != '.' && c != 'e' && c != '+' && c != '-') {
      return false;
    }
  }
  char* end = nullptr;
  number = std::strtod(digits.c_str(), &end);
  return has_digit && end == digits.c_str() + digits.size();
}

double round_float(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 323) {
    return value;
  }
  if (digits < -308) {
    return std::copysign(0.0, value);
  }
  if (digits >= 0) {
    // printf rounds the exact binary value, half to even, and the nearest double is read back.
    return std::strtod(fmt::format("{:.{}f}", value, digits).c_str(), nullptr);
  }
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  const double scaled = value / scale;
  double whole = std::round(scaled);
  if (std::fabs(scaled - whole) == 0.5) {
    whole = 2.0 * std::round(scaled / 2.0);
  }
  return whole * scale;
}

Value round_integer(Runtime& runtime, const Value& integer, int64_t n_zeros) {
  if (n_zeros > 4300) {
    return Value::integer(int64_t{0});
  }
  const Value scale =
      binary(runtime, Operator::kPower, Value::integer(int64_t{10}), Value::integer(n_zeros));
  const BigInt step = as_big(scale);
  BigInt quotient;
  BigInt rest;
  BigInt::divide(as_big(integer), step, quotient, rest);
  const BigInt twice = rest + rest;
  BigInt odd;
  BigInt half;
  BigInt::divide(quotient, BigInt(2), half, odd);
  if (twice > step || (twice == step && !odd.is_zero())) {
    quotient = quotient + BigInt(1);
  }
  return Value::integer(quotient * step);
}

}  // namespace fathom::codec::jinja

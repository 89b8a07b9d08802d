// Floats go through printf, whose e, f and g are Python's.
#include "codec/jinja_format_spec.h"

#include <fmt/format.h>

#include <cmath>

#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"
#include "codec/jinja_strings.h"

namespace fathom::codec::jinja {

namespace {

constexpr int64_t kMaxPrecision = 1000;

// Puts a separator between every `every` digits of the whole part.
std::string grouped(const std::string& digits, char separator, size_t every) {
  const size_t n_whole =
      std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string out;
  for (size_t i = 0; i < n_whole; ++i) {
    if (i > 0 && (n_whole - i) % every == 0) {
      out += separator;
    }
    out += digits[i];
  }
  return out + digits.substr(n_whole);
}

std::string upper(std::string text) {
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  return text;
}

// What C's printf writes for "%.*f" and its like; '#' keeps the point.
std::string printed(double value, char type, int64_t precision, bool alternate) {
  const std::string pattern = fmt::format("{{:{}.{}{}}}", alternate ? "#" : "", precision, type);
  return fmt::format(fmt::runtime(pattern), value);
}

std::string float_digits(Runtime& runtime, double value, const FieldSpec& spec) {
  const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  if (precision > kMaxPrecision) {
    runtime.refuse(fmt::format("a precision of {}, at most {}", precision, kMaxPrecision));
  }
  if (!std::isfinite(value)) {
    const std::string word = std::isnan(value) ? "nan" : "inf";
    return spec.type == 'F' || spec.type == 'E' || spec.type == 'G' ? upper(word) : word;
  }
  switch (spec.type) {
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      return printed(value, spec.type, precision, spec.alternate);
    case 'n':
      return printed(value, 'g', precision, spec.alternate);
    case '%':
      return printed(value * 100, 'f', precision, spec.alternate) + "%";
    default:
      break;
  }
  if (spec.precision < 0) {
    return print_float(value);
  }
  std::string digits = fmt::format("{:.{}g}", value, std::max<int64_t>(precision, 1));
  if (digits.find_first_of(".e") == std::string::npos) {
    digits += ".0";
  }
  return digits;
}

std::string integer_digits(const BigInt& value, const FieldSpec& spec) {
  const BigInt size = value.is_negative() ? value.negated() : value;
  switch (spec.type) {
    case 'x':
      return size.to_string(16);
    case 'X':
      return upper(size.to_string(16));
    case 'o':
      return size.to_string(8);
    case 'b':
      return size.to_string(2);
    default:
      return size.to_string();
  }
}

}  // namespace

std::string format_number(Runtime& runtime, const Value& number, const FieldSpec& spec) {
  constexpr std::string_view kFloatTypes = "eEfFgG%n";
  const bool as_float =
      number.is(Kind::kFloat) || (spec.type != '\0' && spec.type != 'n' &&
                                  kFloatTypes.find(spec.type) != std::string_view::npos);
  if (number.is(Kind::kFloat) && spec.type != '\0' &&
      kFloatTypes.find(spec.type) == std::string_view::npos) {
    runtime.refuse(fmt::format("Unknown format code '{}' for object of type 'float'", spec.type));
  }
  std::string digits;
  bool is_negative = false;
  std::string prefix;
  if (as_float) {
    const double value = as_double(number);
    is_negative = std::signbit(value) && !std::isnan(value);
    digits = float_digits(runtime, std::fabs(value), spec);
  } else {
    const BigInt value = as_big(number);
    is_negative = value.is_negative();
    runtime.charge(value.bits());
    digits = integer_digits(value, spec);
    if (spec.precision > static_cast<int64_t>(digits.size()) && spec.precision <= kMaxPrecision) {
      digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    }
    const bool has_prefix =
        spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b';
    prefix = spec.alternate && has_prefix ? std::string("0") + spec.type : "";
  }
  if (spec.grouping != '\0') {
    const bool by_three = prefix.empty() && spec.type != 'x' && spec.type != 'X' &&
                          spec.type != 'o' && spec.type != 'b';
    digits = grouped(digits, spec.grouping, by_three ? 3 : 4);
  }
  const std::string sign = is_negative                            ? "-"
                           : spec.sign == '+' || spec.sign == ' ' ? std::string(1, spec.sign)
                                                                  : "";
  return sign + prefix + digits;
}

void append_padded(Runtime& runtime, TextBuilder& out, const Value& text, const FieldSpec& spec,
                   char default_align) {
  const char align = spec.align != '\0' ? spec.align : default_align;
  if (align != '=') {
    // str.format puts the odd one to the right, unlike str.center.
    const int64_t room = std::max<int64_t>(spec.width - length_of(text), 0);
    const int64_t left = align == '>' ? room : align == '^' ? room / 2 : 0;
    const Value head = pad(runtime, text, length_of(text) + left, spec.fill, Align::kRight);
    out.append(pad(runtime, head, spec.width, spec.fill, Align::kLeft));
    return;
  }
  const std::string_view bytes = text.text();
  size_t head = !bytes.empty() && (bytes[0] == '-' || bytes[0] == '+' || bytes[0] == ' ') ? 1 : 0;
  if (spec.alternate && bytes.size() > head + 2 && bytes[head] == '0') {
    head += bytes[head + 1] > '9' ? 2 : 0;
  }
  out.append_part(text, 0, head);
  out.append(pad(runtime, part_of(text, head, bytes.size()),
                 spec.width - static_cast<int64_t>(head), spec.fill, Align::kRight));
}

}  // namespace fathom::codec::jinja

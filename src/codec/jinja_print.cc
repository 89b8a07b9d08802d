// Nested values are walked with the runtime's depth and step counters.
#include "codec/jinja_print.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "codec/jinja_operators.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

// A float with 16 digits before the point or more is written with an exponent, as is one below
// 1e-4.
constexpr int kMaxPlainExponent = 16;
constexpr int kMinPlainExponent = -4;
constexpr size_t kMaxIntegerBits = 14'285;  // Python writes no integer of more than 4300 digits

void append_escaped(std::string& out, std::string_view text, char quote) {
  for (size_t at = 0; at < text.size(); at += char_size(text, at)) {
    const char32_t c = char_at(text, at);
    const auto code = static_cast<uint32_t>(c);
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(at, char_size(text, at));
    } else if (code < 0x100) {
      out += fmt::format("\\x{:02x}", code);
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += fmt::format("\\U{:08x}", code);
    }
  }
}

char quote_for(std::string_view text) {
  return text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos
             ? '"'
             : '\'';
}

void print_items(Runtime& runtime, TextBuilder& out, const std::vector<Value>& items,
                 OriginId origin) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      out.append(", ", origin);
    }
    print_repr(runtime, out, items[i]);
  }
}

void print_dict(Runtime& runtime, TextBuilder& out, const DictObject& dict, OriginId origin) {
  out.append("{", origin);
  for (size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0) {
      out.append(", ", origin);
    }
    print_repr(runtime, out, dict.entries[i].first);
    out.append(": ", origin);
    print_repr(runtime, out, dict.entries[i].second);
  }
  out.append("}", origin);
}

void print_view(Runtime& runtime, TextBuilder& out, const Value& view) {
  out.append(fmt::format("{}([", type_name(view)), view.origin());
  Iteration items(runtime, view);
  bool is_first = true;
  for (Value item; items.next(item);) {
    out.append(is_first ? "" : ", ", view.origin());
    is_first = false;
    print_repr(runtime, out, item);
  }
  out.append("])", view.origin());
}

std::string print_integer(Runtime& runtime, const Value& value) {
  if (!value.is(Kind::kBigInt)) {
    return fmt::format("{}", value.as_int());
  }
  const BigInt& big = value.as<BigIntObject>().value;
  if (big.bits() > kMaxIntegerBits) {
    runtime.refuse("Exceeds the limit (4300 digits) for integer string conversion");
  }
  runtime.charge(big.bits());
  return big.to_string();
}

std::string print_range(const RangeObject& range) {
  return range.step == 1 ? fmt::format("range({}, {})", range.start, range.stop)
                         : fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
}

}  // namespace

std::string print_float(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  std::array<char, 40> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(result.ptr - buffer.data()));
  const size_t e = text.find('e');
  const int exponent = std::atoi(text.data() + e + 1);
  if (exponent >= kMaxPlainExponent || exponent < kMinPlainExponent) {
    return fmt::format("{}e{}{:02d}", text.substr(0, e), exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') {
      digits += c;
    }
  }
  const std::string sign = text[0] == '-' ? "-" : "";
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const auto n_whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < n_whole) {
    digits.append(n_whole - digits.size(), '0');
  }
  const std::string fraction = digits.size() > n_whole ? digits.substr(n_whole) : "0";
  return sign + digits.substr(0, n_whole) + "." + fraction;
}

std::string repr_of(std::string_view text) {
  const char quote = quote_for(text);
  std::string out(1, quote);
  append_escaped(out, text, quote);
  return out + quote;
}

void print_repr(Runtime& runtime, TextBuilder& out, const Value& value) {
  const Runtime::Deeper deeper(runtime);
  runtime.charge(1);
  const OriginId origin = value.origin();
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      out.append("Undefined");
      return;
    case Kind::kNone:
      out.append("None", origin);
      return;
    case Kind::kBool:
      out.append(value.as_bool() ? "True" : "False", origin);
      return;
    case Kind::kInt:
    case Kind::kBigInt:
      out.append(print_integer(runtime, value), origin);
      return;
    case Kind::kFloat:
      out.append(print_float(value.as_float()), origin);
      return;
    case Kind::kString: {
      const bool is_markup = value.as<StringObject>().is_markup;
      const char quote = quote_for(value.text());
      runtime.charge(value.text().size() / 16);
      out.append(is_markup ? "Markup(" : "");
      out.append({&quote, 1}, origin);
      for_each_run(value, [&](std::string_view piece, OriginId from) {
        std::string escaped;
        append_escaped(escaped, piece, quote);
        out.append(escaped, from);
      });
      out.append({&quote, 1}, origin);
      out.append(is_markup ? ")" : "");
      return;
    }
    case Kind::kList:
      out.append("[", origin);
      print_items(runtime, out, value.as<SequenceObject>().items, origin);
      out.append("]", origin);
      return;
    case Kind::kTuple: {
      const auto& items = value.as<SequenceObject>().items;
      out.append("(", origin);
      print_items(runtime, out, items, origin);
      out.append(items.size() == 1 ? ",)" : ")", origin);
      return;
    }
    case Kind::kDict:
      print_dict(runtime, out, value.as<DictObject>(), origin);
      return;
    case Kind::kRange:
      out.append(print_range(value.as<RangeObject>()));
      return;
    case Kind::kView:
      print_view(runtime, out, value);
      return;
    case Kind::kIterator:
      out.append("<generator object>");
      return;
    case Kind::kNamespace:
      out.append("<Namespace ");
      print_dict(runtime, out, value.as<NamespaceObject>().attributes, kTemplateOrigin);
      out.append(">");
      return;
    case Kind::kObject:
      out.append(value.as<SpecialObject>().print());
      return;
  }
}

void print(Runtime& runtime, TextBuilder& out, const Value& value) {
  if (value.is(Kind::kString)) {
    out.append(value);
  } else if (!value.is(Kind::kUndefined) && !value.is_missing()) {
    print_repr(runtime, out, value);
  }
}

Value to_text(Runtime& runtime, const Value& value) {
  if (value.is(Kind::kString) && !value.as<StringObject>().is_markup) {
    return value;
  }
  TextBuilder out;
  print(runtime, out, value);
  return out.take();
}

}  // namespace fathom::codec::jinja

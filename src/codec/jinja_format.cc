// Both patterns are read left to right; what is between the fields keeps its origin.
#include "codec/jinja_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codec/jinja_format_spec.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"
#include "codec/jinja_strings.h"

namespace fathom::codec::jinja {

namespace {

constexpr int64_t kMaxNumber = 10'000'000;

bool is_digit_at(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

int64_t read_number(std::string_view text, size_t& at) {
  int64_t number = 0;
  for (; is_digit_at(text, at); ++at) {
    number = std::min(number * 10 + (text[at] - '0'), kMaxNumber);
  }
  return number;
}

Value repr_text(Runtime& runtime, const Value& value) {
  TextBuilder out;
  print_repr(runtime, out, value);
  return out.take();
}

Value escaped_ascii(const Value& text) {
  return map_chars(text, [](std::string_view c) {
    const auto code = static_cast<uint32_t>(char_at(c, 0));
    return code < 0x80      ? std::string(c)
           : code < 0x100   ? fmt::format("\\x{:02x}", code)
           : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                            : fmt::format("\\U{:08x}", code);
  });
}

// pattern % arguments
class PercentFormat {
 public:
  PercentFormat(Runtime& runtime, const Value& pattern, const Value& arguments)
      : runtime_(runtime), pattern_(pattern), text_(pattern.text()), arguments_(arguments) {}

  Value run() {
    while (at_ < text_.size()) {
      const size_t percent = std::min(text_.find('%', at_), text_.size());
      out_.append_part(pattern_, at_, percent);
      at_ = percent + 1;
      if (percent < text_.size()) {
        read_field();
      }
    }
    const bool may_be_left =
        arguments_.is(Kind::kDict) || arguments_.is(Kind::kUndefined) || arguments_.is(Kind::kList);
    const bool is_left = arguments_.is(Kind::kTuple)
                             ? n_used_ < arguments_.as<SequenceObject>().items.size()
                             : n_used_ == 0 && !may_be_left;
    if (is_left) {
      runtime_.refuse("not all arguments converted during string formatting");
    }
    return like_markup(pattern_, out_.take());
  }

 private:
  Value next_argument() {
    if (arguments_.is(Kind::kTuple)) {
      const auto& items = arguments_.as<SequenceObject>().items;
      if (n_used_ >= items.size()) {
        runtime_.refuse("not enough arguments for format string");
      }
      return items[n_used_++];
    }
    if (n_used_++ > 0) {
      runtime_.refuse("not enough arguments for format string");
    }
    return arguments_;
  }

  Value named_argument() {
    const size_t begin = ++at_;
    int depth = 1;
    for (; at_ < text_.size() && depth > 0; ++at_) {
      depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
    }
    if (depth > 0) {
      runtime_.refuse("incomplete format key");
    }
    const std::string_view name = text_.substr(begin, at_ - 1 - begin);
    if (!arguments_.is(Kind::kDict)) {
      runtime_.refuse("format requires a mapping");
    }
    const Value* value = arguments_.as<DictObject>().find(name);
    if (value == nullptr) {
      runtime_.refuse(fmt::format("KeyError: '{}'", name));
    }
    return *value;
  }

  int64_t number_or_star() {
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      return int_argument_of(next_argument());
    }
    return read_number(text_, at_);
  }

  int64_t int_argument_of(const Value& value) {
    int64_t number = 0;
    if (!find_int(value, number)) {
      runtime_.refuse("* wants int");
    }
    return number;
  }

  void read_field() {
    FieldSpec spec;
    Value named;
    if (at_ < text_.size() && text_[at_] == '(') {
      named = named_argument();
    }
    bool zeros = false;
    for (bool is_flag = true; is_flag && at_ < text_.size();) {
      switch (text_[at_]) {
        case '-':
          spec.align = '<';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          spec.sign = spec.sign == '+' ? '+' : ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        case '0':
          zeros = true;
          break;
        default:
          is_flag = false;
      }
      at_ += is_flag ? 1 : 0;
    }
    spec.width = number_or_star();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(number_or_star(), 0);
    }
    while (at_ < text_.size() && (text_[at_] == 'h' || text_[at_] == 'l' || text_[at_] == 'L')) {
      ++at_;
    }
    if (at_ >= text_.size()) {
      runtime_.refuse("incomplete format");
    }
    spec.type = text_[at_++];
    if (spec.type == '%') {
      if (text_[at_ - 2] != '%') {
        runtime_.refuse("unsupported format character '%'");
      }
      out_.append("%", pattern_.origin());
      return;
    }
    write_field(spec, zeros, named.is_missing() ? next_argument() : named);
  }

  void write_field(FieldSpec spec, bool zeros, const Value& value) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a': {
        Value text = spec.type == 's' ? to_text(runtime_, value) : repr_text(runtime_, value);
        text = spec.type == 'a' ? escaped_ascii(text) : text;
        if (is_markup(pattern_)) {
          text = escape_html(spec.type == 's' && is_markup(value) ? value : text);
        }
        if (spec.precision >= 0 && spec.precision < length_of(text)) {
          text = part_of(text, 0, byte_of(text, spec.precision));
        }
        append_padded(runtime_, out_, text, spec, '>');
        return;
      }
      case 'c':
        append_padded(runtime_, out_, character(value), spec, '>');
        return;
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        write_number(spec, zeros, value);
        return;
      default:
        runtime_.refuse(fmt::format("unsupported format character '{}'", spec.type));
    }
  }

  Value character(const Value& value) {
    int64_t code = 0;
    if (value.is(Kind::kString) && length_of(value) == 1) {
      return value;
    }
    if (!find_int(value, code)) {
      runtime_.refuse("%c requires int or char");
    }
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      runtime_.refuse("%c arg not in range(0x110000)");
    }
    std::string text;
    append_utf8(text, static_cast<char32_t>(code));
    return Value::string(text, value.origin());
  }

  void write_number(FieldSpec spec, bool zeros, const Value& value) {
    const bool is_decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (!value.is_number() || (!is_decimal && value.is(Kind::kFloat) &&
                               (spec.type == 'x' || spec.type == 'X' || spec.type == 'o'))) {
      if (value.is(Kind::kUndefined)) {
        runtime_.refuse_undefined(value);
      }
      runtime_.refuse(fmt::format("%{} format: a real number is required, not {}", spec.type,
                                  type_name(value)));
    }
    Value number = value;
    if (is_decimal) {
      spec.type = 'd';
      if (value.is(Kind::kFloat)) {
        if (!std::isfinite(value.as_float())) {
          runtime_.refuse("cannot convert float infinity or NaN to integer");
        }
        number = Value::integer(BigInt::from_double(value.as_float()));
      }
    }
    if (zeros && spec.align == '\0') {
      spec.fill = "0";
      spec.align = '=';
    }
    const Value text = Value::string(format_number(runtime_, number, spec), value.origin());
    append_padded(runtime_, out_, text, spec, '>');
  }

  Runtime& runtime_;
  const Value& pattern_;
  std::string_view text_;
  const Value& arguments_;
  size_t at_ = 0;
  size_t n_used_ = 0;
  TextBuilder out_;
};

// pattern.format(...)
class BraceFormat {
 public:
  BraceFormat(Runtime& runtime, const Arguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  // Fields inside of fields, as in "{:{width}}", are one level deep.
  void run(const Value& pattern, TextBuilder& out, int depth) {
    if (depth > 1) {
      runtime_.refuse("Max string recursion exceeded");
    }
    const std::string_view text = pattern.text();
    for (size_t at = 0; at < text.size();) {
      const size_t brace = std::min(text.find_first_of("{}", at), text.size());
      out.append_part(pattern, at, brace);
      if (brace == text.size()) {
        return;
      }
      if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
        out.append_part(pattern, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (text[brace] == '}') {
        runtime_.refuse("Single '}' encountered in format string");
      }
      int open = 1;
      size_t end = brace + 1;
      for (; end < text.size() && open > 0; ++end) {
        open += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      }
      if (open > 0) {
        runtime_.refuse(end == brace + 1 ? "Single '{' encountered in format string"
                                         : "expected '}' before end of string");
      }
      write_field(pattern, brace + 1, end - 1, out, depth);
      at = end;
    }
  }

 private:
  Value first_value(std::string_view name) {
    const bool is_index = !name.empty() && std::all_of(name.begin(), name.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
    if (!name.empty() && !is_index) {
      for (const Keyword& keyword : arguments_.keywords) {
        if (keyword.name == name) {
          return keyword.value;
        }
      }
      runtime_.refuse(fmt::format("KeyError: '{}'", name));
    }
    if (name.empty() ? is_manual_ : n_automatic_ > 0) {
      runtime_.refuse("cannot switch between manual and automatic field numbering");
    }
    is_manual_ = is_manual_ || is_index;
    size_t at = 0;
    const size_t index = name.empty() ? n_automatic_++ : static_cast<size_t>(read_number(name, at));
    if (index >= arguments_.positional.size()) {
      runtime_.refuse(
          fmt::format("Replacement index {} out of range for positional args tuple", index));
    }
    return arguments_.positional[index];
  }

  // "name.attribute[key]"
  Value field_value(std::string_view field) {
    size_t at = std::min(field.find_first_of(".["), field.size());
    Value value = first_value(field.substr(0, at));
    while (at < field.size()) {
      if (field[at] == '.') {
        const size_t end = std::min(field.find_first_of(".[", at + 1), field.size());
        value = runtime_.attribute(value, field.substr(at + 1, end - at - 1));
        at = end;
        continue;
      }
      const size_t close = field.find(']', at);
      if (field[at] != '[' || close == std::string_view::npos || close == at + 1) {
        runtime_.refuse("Missing ']' in format string");
      }
      const std::string_view key = field.substr(at + 1, close - at - 1);
      size_t digit = 0;
      const int64_t index = read_number(key, digit);
      value = runtime_.item(
          value, digit == key.size() ? Value::integer(index) : Value::string(std::string(key)));
      at = close + 1;
    }
    return value;
  }

  void write_field(const Value& pattern, size_t begin, size_t end, TextBuilder& out, int depth) {
    const std::string_view text = pattern.text();
    size_t name_end = begin;
    for (int brackets = 0; name_end < end; ++name_end) {
      brackets += text[name_end] == '[' ? 1 : text[name_end] == ']' ? -1 : 0;
      if (brackets == 0 && (text[name_end] == '!' || text[name_end] == ':')) {
        break;
      }
    }
    Value value = field_value(text.substr(begin, name_end - begin));
    if (name_end < end && text[name_end] == '!') {
      const char conversion = name_end + 1 < end ? text[name_end + 1] : '\0';
      name_end += 2;
      if (conversion != 's' && conversion != 'r' && conversion != 'a') {
        runtime_.refuse("Unknown conversion specifier in format string");
      }
      value = conversion == 's' ? to_text(runtime_, value) : repr_text(runtime_, value);
      value = conversion == 'a' ? escaped_ascii(value) : value;
      if (name_end < end && text[name_end] != ':') {
        runtime_.refuse("expected ':' after conversion specifier");
      }
    }
    TextBuilder spec;
    if (name_end < end) {
      run(part_of(pattern, name_end + 1, end), spec, depth + 1);
    }
    write_value(value, spec.bytes(), out);
  }

  FieldSpec read_spec(std::string_view text, bool is_number) {
    FieldSpec spec;
    size_t at = 0;
    const auto is_align = [&](size_t i) {
      return i < text.size() && std::string_view("<>=^").find(text[i]) != std::string_view::npos;
    };
    const size_t fill_size = text.empty() ? 0 : char_size(text, 0);
    const bool has_fill = !text.empty() && is_align(fill_size);
    if (has_fill) {
      spec.fill = text.substr(0, fill_size);
      spec.align = text[fill_size];
      at = fill_size + 1;
    } else if (is_align(0)) {
      spec.align = text[0];
      at = 1;
    }
    if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) {
      spec.sign = text[at++];
    }
    if (at < text.size() && text[at] == '#') {
      spec.alternate = true;
      ++at;
    }
    if (at < text.size() && text[at] == '0') {
      spec.fill = has_fill ? spec.fill : "0";
      spec.align = spec.align == '\0' && is_number ? '=' : spec.align;
      ++at;
    }
    spec.width = read_number(text, at);
    if (at < text.size() && (text[at] == ',' || text[at] == '_')) {
      spec.grouping = text[at++];
    }
    if (at < text.size() && text[at] == '.') {
      ++at;
      if (!is_digit_at(text, at)) {
        runtime_.refuse("Format specifier missing precision");
      }
      spec.precision = read_number(text, at);
    }
    if (at < text.size()) {
      spec.type = text[at++];
    }
    check_grouping(spec);
    if (at < text.size()) {
      runtime_.refuse("Invalid format specifier");
    }
    return spec;
  }

  void check_grouping(const FieldSpec& spec) {
    constexpr std::string_view kByComma = "deEfFgG%";
    constexpr std::string_view kByUnderscore = "deEfFgG%boxX";
    const std::string_view types = spec.grouping == ',' ? kByComma : kByUnderscore;
    if (spec.grouping != '\0' && spec.type != '\0' &&
        types.find(spec.type) == std::string_view::npos) {
      runtime_.refuse(fmt::format("Cannot specify '{}' with '{}'.", spec.grouping, spec.type));
    }
  }

  void write_value(const Value& value, std::string_view spec_text, TextBuilder& out) {
    const bool is_number = value.is_number();
    if (spec_text.empty()) {
      print(runtime_, out, value);
      return;
    }
    if (!is_number && !value.is(Kind::kString)) {
      runtime_.refuse(
          fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
    }
    const FieldSpec spec = read_spec(spec_text, is_number);
    if (!is_number) {
      if ((spec.type != '\0' && spec.type != 's') || spec.align == '=' || spec.sign != '\0') {
        runtime_.refuse(
            fmt::format("Unknown format code '{}' for object of type 'str'", spec.type));
      }
      Value text = value;
      if (spec.precision >= 0 && spec.precision < length_of(text)) {
        text = part_of(text, 0, byte_of(text, spec.precision));
      }
      append_padded(runtime_, out, text, spec, '<');
      return;
    }
    constexpr std::string_view kTypes = "bcdoxXeEfFgGn%";
    const bool is_known = spec.type == '\0' || kTypes.find(spec.type) != std::string_view::npos;
    if (!is_known || (!value.is(Kind::kFloat) && spec.precision >= 0 &&
                      (spec.type == '\0' ||
                       std::string_view("dboxXcn").find(spec.type) != std::string_view::npos))) {
      runtime_.refuse(fmt::format("Unknown format code '{}' for object of type '{}'", spec.type,
                                  type_name(value)));
    }
    if (spec.type == 'c') {
      std::string character;
      int64_t code = 0;
      if (!find_int(value, code) || code < 0 || code > 0x10FFFF) {
        runtime_.refuse("%c arg not in range(0x110000)");
      }
      append_utf8(character, static_cast<char32_t>(code));
      append_padded(runtime_, out, Value::string(character, value.origin()), spec, '<');
      return;
    }
    const Value text = Value::string(format_number(runtime_, value, spec), value.origin());
    append_padded(runtime_, out, text, spec, '>');
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  size_t n_automatic_ = 0;
  bool is_manual_ = false;
};

}  // namespace

Value format_percent(Runtime& runtime, const Value& pattern, const Value& arguments) {
  return PercentFormat(runtime, pattern, arguments).run();
}

Value format_braces(Runtime& runtime, const Value& pattern, const Arguments& arguments) {
  TextBuilder out;
  BraceFormat(runtime, arguments).run(pattern, out, 0);
  return out.take();
}

}  // namespace fathom::codec::jinja

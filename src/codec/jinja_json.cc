// Values are read one by one where they lie, so that order and digits are kept.
#include "codec/jinja_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/error.h"
#include "codec/jinja_builtins.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"
#include "codec/json_scanner.h"

namespace fathom::codec::jinja {

namespace {

constexpr size_t kMaxDepth = 500;     // of arrays and objects within each other
constexpr size_t kMostDigits = 4300;  // of an integer, as in Python

class Reader {
 public:
  Reader(std::string_view text, Origins* origins, OriginId root, std::string_view what)
      : origins_(origins),
        root_(root),
        what_(what),
        scanner_(text, std::string(what), ErrorCode::kInvalidArgument) {}

  Value read_all() {
    Value value = read(root_, 0);
    scanner_.finish();
    return value;
  }

 private:
  // The next value, which gets `origin`.
  Value read(OriginId origin, size_t depth) {
    switch (scanner_.peek()) {
      case JsonScanner::Type::kNull:
        if (!scanner_.skip_null()) {
          scanner_.refuse("null");
        }
        return Value::none().with_origin(origin);
      case JsonScanner::Type::kBool:
        return Value::boolean(scanner_.read_bool()).with_origin(origin);
      case JsonScanner::Type::kNumber:
        return read_number().with_origin(origin);
      case JsonScanner::Type::kText:
        return Value::string(std::string(scanner_.read_text()), origin);
      case JsonScanner::Type::kList:
        return read_list(origin, depth);
      case JsonScanner::Type::kObject:
        break;
    }
    return read_dict(origin, depth);
  }

  Value read_list(OriginId origin, size_t depth) {
    require_shallow(depth);
    Value list = Value::list({}).with_origin(origin);
    auto& items = list.as<SequenceObject>().items;
    scanner_.read_list([&] {
      const auto index = static_cast<int64_t>(items.size());
      Value item = read(origins_ == nullptr ? root_ : origins_->add(origin, index), depth + 1);
      items.push_back(std::move(item));
    });
    return list;
  }

  Value read_dict(OriginId origin, size_t depth) {
    require_shallow(depth);
    Value dict = Value(Kind::kDict, new DictObject).with_origin(origin);
    auto& entries = dict.as<DictObject>();
    scanner_.read_object([&](std::string_view key) {
      Value value = read(origins_ == nullptr ? root_ : origins_->add(origin, key), depth + 1);
      entries.set(Value::string(std::string(key), origin), std::move(value));
    });
    return dict;
  }

  Value read_number() {
    const std::string_view digits = scanner_.read_digits();
    if (digits.find_first_of(".eE") != std::string_view::npos) {
      const double value = std::strtod(std::string(digits).c_str(), nullptr);
      if (!std::isfinite(value)) {
        refuse(fmt::format("the number {} is beyond 64-bit floats", digits.substr(0, 40)));
      }
      return Value::real(value);
    }
    int64_t value = 0;
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc()) {
      return Value::integer(value);
    }
    const bool is_negative = digits.starts_with('-');
    if (digits.size() > kMostDigits) {
      refuse(fmt::format("an integer of more than {} digits", kMostDigits));
    }
    const auto number = BigInt::parse(digits.substr(is_negative ? 1 : 0), 10);
    return Value::integer(is_negative ? number->negated() : *number);
  }

  void require_shallow(size_t depth) const {
    if (depth >= kMaxDepth) {
      fail(ErrorCode::kResourceExhausted,
           fmt::format("{}: nested more than {} levels deep", what_, kMaxDepth));
    }
  }

  [[noreturn]] void refuse(std::string_view found) const {
    fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", what_, found));
  }

  Origins* origins_;
  OriginId root_;
  std::string_view what_;
  JsonScanner scanner_;
};

class Writer {
 public:
  Writer(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

  void write(const Value& value) {
    const Runtime::Deeper deeper(runtime_);
    runtime_.charge(1);
    const OriginId origin = value.origin();
    switch (value.kind()) {
      case Kind::kNone:
        out_.append("null", origin);
        return;
      case Kind::kBool:
        out_.append(value.as_bool() ? "true" : "false", origin);
        return;
      case Kind::kInt:
      case Kind::kBigInt:
        print(runtime_, out_, value);
        return;
      case Kind::kFloat:
        out_.append(float_text(value.as_float()), origin);
        return;
      case Kind::kString:
        write_string(value);
        return;
      case Kind::kList:
      case Kind::kTuple:
        write_list(value);
        return;
      case Kind::kDict:
        write_dict(value);
        return;
      default:
        runtime_.refuse(
            fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    }
  }

  Value take() { return out_.take(); }

 private:
  static std::string float_text(double value) {
    if (std::isnan(value)) {
      return "NaN";
    }
    return std::isinf(value) ? (value < 0 ? "-Infinity" : "Infinity") : print_float(value);
  }

  void append_escaped(std::string& out, std::string_view text) const {
    for (size_t at = 0; at < text.size();) {
      const char c = text[at];
      if (static_cast<unsigned char>(c) >= 0x80 && style_.ensure_ascii) {
        auto code = static_cast<uint32_t>(char_at(text, at));
        if (code >= 0x10000) {
          code -= 0x10000;
          out += fmt::format("\\u{:04x}", 0xD800 + (code >> 10));
          code = 0xDC00 + (code & 0x3FF);
        }
        out += fmt::format("\\u{:04x}", code);
        at += char_size(text, at);
        continue;
      }
      constexpr std::string_view kPlain = "\"\\\n\r\t\f\b";
      constexpr std::string_view kLetter = "\"\\nrtfb";
      const size_t short_form = kPlain.find(c);
      if (short_form != std::string_view::npos) {
        out += '\\';
        out += kLetter[short_form];
      } else if (static_cast<unsigned char>(c) < 0x20 || (c == 0x7F && style_.ensure_ascii)) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
      ++at;
    }
  }

  void write_string(const Value& value) {
    runtime_.charge(value.text().size() / 16);
    out_.append("\"", value.origin());
    for_each_run(value, [&](std::string_view piece, OriginId origin) {
      std::string escaped;
      escaped.reserve(piece.size());
      append_escaped(escaped, piece);
      out_.append(escaped, origin);
    });
    out_.append("\"", value.origin());
  }

  void new_line(OriginId origin) {
    if (!style_.has_indent) {
      return;
    }
    std::string line = "\n";
    for (size_t i = 0; i < level_; ++i) {
      line += style_.indent;
    }
    runtime_.charge(line.size() / 16);
    out_.append(line, origin);
  }

  void write_list(const Value& value) {
    const auto& items = value.as<SequenceObject>().items;
    out_.append("[", value.origin());
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      out_.append(i > 0 ? style_.item_separator : "", value.origin());
      new_line(value.origin());
      write(items[i]);
    }
    --level_;
    if (!items.empty()) {
      new_line(value.origin());
    }
    out_.append("]", value.origin());
  }

  Value key_text(const Value& key) {
    switch (key.kind()) {
      case Kind::kString:
        return key;
      case Kind::kNone:
        return Value::string("null", key.origin());
      case Kind::kBool:
        return Value::string(key.as_bool() ? "true" : "false", key.origin());
      case Kind::kFloat:
        return Value::string(float_text(key.as_float()), key.origin());
      case Kind::kInt:
      case Kind::kBigInt:
        return to_text(runtime_, key);
      default:
        runtime_.refuse(
            fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
  }

  void write_dict(const Value& value) {
    std::vector<Value> pairs;
    std::vector<Value> keys;
    for (const auto& [key, item] : value.as<DictObject>().entries) {
      pairs.push_back(Value::tuple({key, item}));
      keys.push_back(key);
    }
    if (style_.sort_keys) {
      pairs = sorted(runtime_, std::move(pairs), std::move(keys), false);
    }
    out_.append("{", value.origin());
    ++level_;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto& both = pairs[i].as<SequenceObject>().items;
      out_.append(i > 0 ? style_.item_separator : "", value.origin());
      new_line(value.origin());
      write_string(key_text(both[0]));
      out_.append(style_.key_separator, value.origin());
      write(both[1]);
    }
    --level_;
    if (!pairs.empty()) {
      new_line(value.origin());
    }
    out_.append("}", value.origin());
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  TextBuilder out_;
  size_t level_ = 0;
};

}  // namespace

Value parse_json(std::string_view text, Origins* origins, OriginId root, std::string_view what) {
  return Reader(text, origins, root, what).read_all();
}

Value dump_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  Writer writer(runtime, style);
  writer.write(value);
  return writer.take();
}

}  // namespace fathom::codec::jinja

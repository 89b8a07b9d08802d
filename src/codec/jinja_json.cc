// Reading goes through nlohmann's events, so that order and digits are kept; writing is ours.
#include "codec/jinja_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "codec/jinja_builtins.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

constexpr size_t kMaxDepth = 500;  // of arrays and objects within each other

class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(Origins* origins, OriginId root, std::string_view what)
      : origins_(origins), root_(root), what_(what) {}

  bool null() override { return add(Value::none()); }

  bool boolean(bool value) override { return add(Value::boolean(value)); }

  bool number_integer(number_integer_t value) override { return add(Value::integer(value)); }

  bool number_unsigned(number_unsigned_t value) override {
    if (value <= INT64_MAX) {
      return add(Value::integer(static_cast<int64_t>(value)));
    }
    return add(Value::integer(*BigInt::parse(fmt::format("{}", value), 10)));
  }

  bool number_float(number_float_t value, const string_t& digits) override {
    if (digits.find_first_of(".eE") != string_t::npos) {
      return add(Value::real(value));
    }
    const bool is_negative = digits.starts_with('-');
    if (digits.size() > 4300) {
      refuse("an integer of more than 4300 digits");
    }
    const auto number = BigInt::parse(std::string_view(digits).substr(is_negative ? 1 : 0), 10);
    return add(Value::integer(is_negative ? number->negated() : *number));
  }

  bool string(string_t& text) override { return add(Value::string(std::move(text))); }

  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return open(Value(Kind::kDict, new DictObject)); }

  bool end_object() override { return close(); }

  bool start_array(size_t) override { return open(Value::list({})); }

  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    open_.back().key = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: byte {} is not JSON as expected ({})", what_, position, error.what()));
  }

  Value result;

 private:
  struct Open {
    Value value;
    std::string key;
  };

  [[noreturn]] void refuse(std::string_view found) const {
    fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", what_, found));
  }

  [[nodiscard]] OriginId next_origin() {
    if (origins_ == nullptr || open_.empty()) {
      return root_;
    }
    const Value& outer = open_.back().value;
    if (outer.is(Kind::kDict)) {
      return origins_->add(outer.origin(), open_.back().key);
    }
    const auto index = static_cast<int64_t>(outer.as<SequenceObject>().items.size());
    return origins_->add(outer.origin(), index);
  }

  bool add(const Value& value) {
    place(value.with_origin(next_origin()));
    return true;
  }

  void place(Value value) {
    if (open_.empty()) {
      result = std::move(value);
      return;
    }
    const Value& outer = open_.back().value;
    if (outer.is(Kind::kDict)) {
      outer.as<DictObject>().set(Value::string(std::move(open_.back().key), outer.origin()),
                                 std::move(value));
    } else {
      outer.as<SequenceObject>().items.push_back(std::move(value));
    }
  }

  bool open(const Value& value) {
    if (open_.size() >= kMaxDepth) {
      fail(ErrorCode::kResourceExhausted,
           fmt::format("{}: nested more than {} levels deep", what_, kMaxDepth));
    }
    open_.push_back({value.with_origin(next_origin()), {}});
    return true;
  }

  bool close() {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    place(std::move(value));
    return true;
  }

  Origins* origins_;
  OriginId root_;
  std::string_view what_;
  std::vector<Open> open_;
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
  Reader reader(origins, root, what);
  nlohmann::json::sax_parse(text, &reader);
  return std::move(reader.result);
}

Value dump_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  Writer writer(runtime, style);
  writer.write(value);
  return writer.take();
}

}  // namespace fathom::codec::jinja

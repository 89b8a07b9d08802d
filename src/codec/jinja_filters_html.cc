// Filters for HTML and URLs. Chat templates hardly use them; jinja2 has them.
// Called by codec/jinja_builtins. Read next: codec/jinja_filters_text.cc.
#include <fmt/format.h>

#include <array>

#include "codec/jinja_builtins.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"
#include "codec/jinja_strings.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

Value escape(Runtime& runtime, const Bound& args) {
  return as_markup(escape_html(text_argument(runtime, args.self)));
}

Value forceescape(Runtime& runtime, const Bound& args) {
  return as_markup(escape_html(to_text(runtime, args.self)));
}

Value safe(Runtime& runtime, const Bound& args) {
  return as_markup(text_argument(runtime, args.self));
}

// The few named characters that text of this kind holds, and numbers.
std::string unescape_entity(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames = {
      {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\u00A0"}}};
  for (const auto& [known, text] : kNames) {
    if (known == name) {
      return std::string(text);
    }
  }
  if (name.size() > 1 && name.size() < 9 && name[0] == '#') {
    const bool is_hex = (name[1] | 0x20) == 'x';
    const std::string digits(name.substr(is_hex ? 2 : 1));
    const size_t n_valid =
        digits.find_first_not_of(is_hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (!digits.empty() && n_valid == std::string::npos) {
      const auto code = static_cast<char32_t>(std::stoul(digits, nullptr, is_hex ? 16 : 10));
      std::string out;
      append_utf8(
          out, code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0xFFFD : code);
      return out;
    }
  }
  return "&" + std::string(name) + ";";
}

// Cuts from `open` to `close` as often as both are there.
std::string without(std::string_view text, std::string_view open, std::string_view close) {
  std::string out;
  size_t at = 0;
  while (true) {
    const size_t begin = text.find(open, at);
    const size_t end = begin == text.npos ? text.npos : text.find(close, begin);
    if (end == text.npos) {
      return out + std::string(text.substr(at));
    }
    out += text.substr(at, begin - at);
    at = end + close.size();
  }
}

Value striptags(Runtime& runtime, const Bound& args) {
  const Value text = text_argument(runtime, args.self);
  const std::string plain = without(without(text.text(), "<!--", "-->"), "<", ">");
  std::string out;
  bool needs_blank = false;
  for (size_t at = 0; at < plain.size(); at += char_size(plain, at)) {
    if (is_space(char_at(plain, at))) {
      needs_blank = !out.empty();
      continue;
    }
    out += needs_blank ? " " : "";
    needs_blank = false;
    out += std::string_view(plain).substr(at, char_size(plain, at));
  }
  std::string decoded;
  for (size_t at = 0; at < out.size();) {
    const size_t end = out[at] == '&' ? out.find(';', at) : std::string::npos;
    if (end == std::string::npos || end - at > 12) {
      decoded += out[at++];
      continue;
    }
    decoded += unescape_entity(std::string_view(out).substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return Value::string(std::move(decoded), text.origin());
}

std::string quoted(std::string_view text, bool for_query) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
                          c == '.' || c == '-' || c == '~' || (c == '/' && !for_query);
    if (static_cast<unsigned char>(c) < 0x80 && is_plain) {
      out += c;
    } else if (for_query && c == ' ') {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Value urlencode(Runtime& runtime, const Bound& args) {
  if (args.self.is(Kind::kString) || !is_iterable(args.self)) {
    const Value text = text_argument(runtime, args.self);
    return map_runs(text, [](std::string_view piece) { return quoted(piece, false); });
  }
  Value pairs = args.self;
  if (args.self.is(Kind::kDict)) {
    pairs = runtime.call(runtime.attribute(args.self, "items"), {});
  }
  TextBuilder out;
  Iteration items(runtime, pairs);
  for (Value pair; items.next(pair);) {
    const std::vector<Value> both = items_of(runtime, pair);
    if (both.size() != 2) {
      runtime.refuse("urlencode: expected pairs of a key and a value");
    }
    out.append(out.size() > 0 ? "&" : "");
    for (size_t i = 0; i < 2; ++i) {
      const Value text = text_argument(runtime, both[i]);
      out.append(quoted(text.text(), true), text.origin());
      out.append(i == 0 ? "=" : "");
    }
  }
  return out.take();
}

Value xmlattr(Runtime& runtime, const Bound& args) {
  if (!args.self.is(Kind::kDict)) {
    runtime.refuse(fmt::format("'{}' object has no attribute 'items'", type_name(args.self)));
  }
  TextBuilder out;
  const bool has_blank = !args.has(0) || is_true(args[0]);
  for (const auto& [key, value] : args.self.as<DictObject>().entries) {
    if (value.is(Kind::kNone) || value.is(Kind::kUndefined)) {
      continue;
    }
    if (!key.is(Kind::kString) ||
        key.text().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
      runtime.refuse(
          fmt::format("Invalid character in attribute name: {}", to_text(runtime, key).text()));
    }
    out.append(out.size() > 0 || has_blank ? " " : "");
    out.append(escape_html(key));
    out.append("=\"");
    out.append(escape_html(text_argument(runtime, value)));
    out.append("\"");
  }
  return out.take();
}

constexpr std::array<Signature, 7> kFilters = {{
    {"e", escape},
    {"escape", escape},
    {"forceescape", forceescape},
    {"safe", safe},
    {"striptags", striptags},
    {"urlencode", urlencode},
    {"xmlattr", xmlattr, "autospace"},
}};

}  // namespace

std::span<const Signature> html_filters() {
  return kFilters;
}

}  // namespace fathom::codec::jinja

// The methods of str that look and that change text; splitting is in codec/jinja_methods_split.cc.
// Called by codec/jinja_builtins. Read next: codec/jinja_strings.h.
#include <fmt/format.h>

#include <array>

#include "codec/jinja_builtins.h"
#include "codec/jinja_format.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_strings.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

std::string_view text_of(Runtime& runtime, const Value& value, std::string_view method) {
  if (value.is(Kind::kUndefined)) {
    runtime.refuse(
        fmt::format("{}: expected str, found {}", method, value.as<UndefinedObject>().message()));
  }
  if (!value.is(Kind::kString)) {
    runtime.refuse(fmt::format("{}() argument must be str, not {}", method, type_name(value)));
  }
  return value.text();
}

template <std::string (*kMap)(std::string_view)>
Value mapped(Runtime&, const Bound& args) {
  return map_runs(args.self, kMap);
}

Value lower(Runtime&, const Bound& args) {
  return lower_text(args.self);
}

Value capitalize_method(Runtime&, const Bound& args) {
  return capitalized(args.self);
}

Value title(Runtime&, const Bound& args) {
  if (args.self.as<StringObject>().runs.empty()) {
    return Value::string(to_title(args.self.text()), args.self.origin());
  }
  return map_runs(args.self, to_title);
}

Value strip_both(Runtime& runtime, const Bound& args) {
  return strip(runtime, args.self, args[0], true, true);
}

Value strip_left(Runtime& runtime, const Bound& args) {
  return strip(runtime, args.self, args[0], true, false);
}

Value strip_right(Runtime& runtime, const Bound& args) {
  return strip(runtime, args.self, args[0], false, true);
}

Value replace(Runtime& runtime, const Bound& args) {
  text_of(runtime, args[0], "replace");
  text_of(runtime, args[1], "replace");
  return replace_text(runtime, args.self, args[0],
                      is_markup(args.self) ? escape_html(args[1]) : args[1],
                      args.has(2) ? int_argument(runtime, args[2], "replace") : -1);
}

// The part of a string that start and end arguments (0-based, from `first`) leave, as bytes.
struct Part {
  size_t begin, end;
  int64_t first_char;
  bool is_valid;
};

Part part_argument(Runtime& runtime, const Bound& args, size_t first) {
  const int64_t size = length_of(args.self);
  const auto bound = [&](size_t i, int64_t absent) {
    if (!args.has(i) || args[i].is(Kind::kNone)) {
      return absent;
    }
    const int64_t at = int_argument(runtime, args[i], "slice indices");
    return at < 0 ? std::max<int64_t>(at + size, 0) : at;
  };
  const int64_t start = bound(first, 0);
  const int64_t stop = std::min(bound(first + 1, size), size);
  if (start > stop) {
    return {0, 0, start, false};
  }
  return {byte_of(args.self, start), byte_of(args.self, stop), start, true};
}

int64_t find_text(Runtime& runtime, const Bound& args, bool from_end, std::string_view method) {
  const std::string_view what = text_of(runtime, args[0], method);
  const Part part = part_argument(runtime, args, 1);
  if (!part.is_valid) {
    return -1;
  }
  const std::string_view text = args.self.text().substr(part.begin, part.end - part.begin);
  const size_t found = from_end ? text.rfind(what) : text.find(what);
  return found == std::string_view::npos ? -1
                                         : part.first_char + count_chars(text.substr(0, found));
}

Value find(Runtime& runtime, const Bound& args) {
  return Value::integer(find_text(runtime, args, false, "find"));
}

Value rfind(Runtime& runtime, const Bound& args) {
  return Value::integer(find_text(runtime, args, true, "rfind"));
}

Value index(Runtime& runtime, const Bound& args) {
  const int64_t found = find_text(runtime, args, false, "index");
  if (found < 0) {
    runtime.refuse("substring not found");
  }
  return Value::integer(found);
}

Value rindex(Runtime& runtime, const Bound& args) {
  const int64_t found = find_text(runtime, args, true, "rindex");
  if (found < 0) {
    runtime.refuse("substring not found");
  }
  return Value::integer(found);
}

Value count(Runtime& runtime, const Bound& args) {
  const std::string_view what = text_of(runtime, args[0], "count");
  const Part part = part_argument(runtime, args, 1);
  if (!part.is_valid) {
    return Value::integer(int64_t{0});
  }
  const std::string_view text = args.self.text().substr(part.begin, part.end - part.begin);
  if (what.empty()) {
    return Value::integer(count_chars(text) + 1);
  }
  int64_t n_found = 0;
  for (size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++n_found;
  }
  return Value::integer(n_found);
}

Value has_affix(Runtime& runtime, const Bound& args, bool at_end) {
  const Part part = part_argument(runtime, args, 1);
  const std::string_view text =
      part.is_valid ? args.self.text().substr(part.begin, part.end - part.begin) : "";
  const auto matches = [&](const Value& affix) {
    const std::string_view what = text_of(runtime, affix, at_end ? "endswith" : "startswith");
    return part.is_valid && (at_end ? text.ends_with(what) : text.starts_with(what));
  };
  if (!args[0].is(Kind::kTuple)) {
    return Value::boolean(matches(args[0]));
  }
  for (const Value& affix : args[0].as<SequenceObject>().items) {
    if (matches(affix)) {
      return Value::boolean(true);
    }
  }
  return Value::boolean(false);
}

Value startswith(Runtime& runtime, const Bound& args) {
  return has_affix(runtime, args, false);
}

Value endswith(Runtime& runtime, const Bound& args) {
  return has_affix(runtime, args, true);
}

Value removeprefix(Runtime& runtime, const Bound& args) {
  const std::string_view what = text_of(runtime, args[0], "removeprefix");
  const std::string_view text = args.self.text();
  return text.starts_with(what) ? part_of(args.self, what.size(), text.size()) : args.self;
}

Value removesuffix(Runtime& runtime, const Bound& args) {
  const std::string_view what = text_of(runtime, args[0], "removesuffix");
  const std::string_view text = args.self.text();
  return text.ends_with(what) ? part_of(args.self, 0, text.size() - what.size()) : args.self;
}

template <bool (*kTest)(char32_t)>
Value all_chars(Runtime&, const Bound& args) {
  const std::string_view text = args.self.text();
  bool holds = !text.empty();
  for (size_t at = 0; holds && at < text.size(); at += char_size(text, at)) {
    holds = kTest(char_at(text, at));
  }
  return Value::boolean(holds);
}

bool is_alnum(char32_t c) {
  return is_alpha(c) || is_numeric(c) || is_digit(c);
}

Value isascii(Runtime&, const Bound& args) {
  return Value::boolean(length_of(args.self) == static_cast<int64_t>(args.self.text().size()));
}

Value isprintable(Runtime& runtime, const Bound& args) {
  return args.self.text().empty() ? Value::boolean(true) : all_chars<is_printable>(runtime, args);
}

Value isidentifier(Runtime& runtime, const Bound& args) {
  const std::string_view text = args.self.text();
  return Value::boolean(!text.empty() && is_identifier_start(char_at(text, 0)) &&
                        all_chars<is_word>(runtime, args).as_bool());
}

Value istitle(Runtime&, const Bound& args) {
  const std::string_view text = args.self.text();
  bool has_word = false;
  bool in_word = false;
  for (size_t at = 0; at < text.size(); at += char_size(text, at)) {
    const char32_t c = char_at(text, at);
    const bool is_capital = is_upper(c) || is_title(c);
    if (is_capital ? in_word : is_lower(c) && !in_word) {
      return Value::boolean(false);
    }
    in_word = is_capital || is_lower(c);
    has_word = has_word || in_word;
  }
  return Value::boolean(has_word);
}

Value islower(Runtime&, const Bound& args) {
  return Value::boolean(has_only_case(args.self.text(), false));
}

Value isupper(Runtime&, const Bound& args) {
  return Value::boolean(has_only_case(args.self.text(), true));
}

template <Align kAlign>
Value padded(Runtime& runtime, const Bound& args) {
  const std::string_view fill = args.has(1) ? text_of(runtime, args[1], "ljust") : " ";
  if (count_chars(fill) != 1) {
    runtime.refuse("The fill character must be exactly one character long");
  }
  return pad(runtime, args.self, int_argument(runtime, args[0], "width"), fill, kAlign);
}

Value zfill(Runtime& runtime, const Bound& args) {
  const std::string_view text = args.self.text();
  const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const int64_t width = int_argument(runtime, args[0], "zfill") - static_cast<int64_t>(sign);
  TextBuilder out;
  out.append_part(args.self, 0, sign);
  out.append(pad(runtime, part_of(args.self, sign, text.size()), width, "0", Align::kRight));
  return out.take();
}

Value expandtabs(Runtime& runtime, const Bound& args) {
  const int64_t size = args.has(0) ? int_argument(runtime, args[0], "expandtabs") : 8;
  if (size > 1000) {
    runtime.refuse("expandtabs: more than 1000 columns");
  }
  int64_t column = 0;
  return map_chars(args.self, [&](std::string_view piece) {
    if (piece == "\t") {
      const int64_t n = size > 0 ? size - column % size : 0;
      column += n;
      return std::string(static_cast<size_t>(n), ' ');
    }
    column = piece == "\n" || piece == "\r" ? 0 : column + 1;
    return std::string(piece);
  });
}

Value format(Runtime& runtime, const Bound& args) {
  return format_braces(runtime, args.self, {args.extra, args.extra_keywords});
}

Value format_map(Runtime& runtime, const Bound& args) {
  if (!args[0].is(Kind::kDict)) {
    runtime.refuse(fmt::format("format_map: expected a dict, found {}", type_name(args[0])));
  }
  std::vector<Keyword> keywords;
  for (const auto& [key, value] : args[0].as<DictObject>().entries) {
    if (key.is(Kind::kString)) {
      keywords.push_back({key.text(), value, key});
    }
  }
  return format_braces(runtime, args.self, {{}, keywords});
}

constexpr std::array<Signature, 38> kMethods = {{
    {"capitalize", capitalize_method},
    {"casefold", mapped<casefold>},
    {"center", padded<Align::kCenter>, "/,/", 1},
    {"count", count, "/,/,/", 1},
    {"endswith", endswith, "/,/,/", 1},
    {"expandtabs", expandtabs, "tabsize"},
    {"find", find, "/,/,/", 1},
    {"format", format, "", 0, true, true},
    {"format_map", format_map, "/", 1},
    {"index", index, "/,/,/", 1},
    {"isalnum", all_chars<is_alnum>},
    {"isalpha", all_chars<is_alpha>},
    {"isascii", isascii},
    {"isdecimal", all_chars<is_decimal>},
    {"isdigit", all_chars<is_digit>},
    {"isidentifier", isidentifier},
    {"islower", islower},
    {"isnumeric", all_chars<is_numeric>},
    {"isprintable", isprintable},
    {"isspace", all_chars<is_space>},
    {"istitle", istitle},
    {"isupper", isupper},
    {"ljust", padded<Align::kLeft>, "/,/", 1},
    {"lower", lower},
    {"lstrip", strip_left, "/"},
    {"removeprefix", removeprefix, "/", 1},
    {"removesuffix", removesuffix, "/", 1},
    {"replace", replace, "/,/,/", 2},
    {"rfind", rfind, "/,/,/", 1},
    {"rindex", rindex, "/,/,/", 1},
    {"rjust", padded<Align::kRight>, "/,/", 1},
    {"rstrip", strip_right, "/"},
    {"startswith", startswith, "/,/,/", 1},
    {"strip", strip_both, "/"},
    {"swapcase", mapped<swap_case>},
    {"title", title},
    {"upper", mapped<to_upper>},
    {"zfill", zfill, "/", 1},
}};

}  // namespace

std::span<const Signature> string_methods() {
  return kMethods;
}

}  // namespace fathom::codec::jinja

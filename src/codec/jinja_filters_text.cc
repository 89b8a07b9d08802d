// Filters on text. Pieces that stay as they are keep their origins.
// Called by codec/jinja_builtins. Read next: codec/jinja_methods_string.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/jinja_builtins.h"
#include "codec/jinja_format.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"
#include "codec/jinja_strings.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

Value upper(Runtime& runtime, const Bound& args) {
  return map_runs(text_argument(runtime, args.self), to_upper);
}

Value lower(Runtime& runtime, const Bound& args) {
  return lower_text(text_argument(runtime, args.self));
}

Value capitalize_text(Runtime& runtime, const Bound& args) {
  return capitalized(text_argument(runtime, args.self));
}

// Words begin after white space, '-' and opening brackets; another rule than str.title.
Value title(Runtime& runtime, const Bound& args) {
  const Value text = text_argument(runtime, args.self);
  bool in_word = false;
  return map_chars(text, [&](std::string_view piece) {
    const char32_t c = char_at(piece, 0);
    const bool is_break = c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
    std::string out = is_break ? std::string(piece) : in_word ? to_lower(piece) : to_upper(piece);
    in_word = !is_break;
    return out;
  });
}

Value trim(Runtime& runtime, const Bound& args) {
  return strip(runtime, text_argument(runtime, args.self), args[0], true, true);
}

Value replace(Runtime& runtime, const Bound& args) {
  const int64_t count =
      args.has(2) && !args[2].is(Kind::kNone) ? int_argument(runtime, args[2], "replace") : -1;
  return replace_text(runtime, to_text(runtime, args.self), text_argument(runtime, args[0]),
                      text_argument(runtime, args[1]), count);
}

Value center(Runtime& runtime, const Bound& args) {
  const int64_t width = args.has(0) ? int_argument(runtime, args[0], "center") : 80;
  return pad(runtime, text_argument(runtime, args.self), width, " ", Align::kCenter);
}

Value string(Runtime& runtime, const Bound& args) {
  return text_argument(runtime, args.self);
}

Value format(Runtime& runtime, const Bound& args) {
  const Value pattern = text_argument(runtime, args.self);
  if (!args.extra_keywords.empty()) {
    if (!args.extra.empty()) {
      runtime.refuse("can't handle positional and keyword arguments at the same time");
    }
    auto* dict = new DictObject;
    const Value values(Kind::kDict, dict);
    for (const Keyword& keyword : args.extra_keywords) {
      dict->set(Value::string(std::string(keyword.name)), keyword.value);
    }
    return format_percent(runtime, pattern, values);
  }
  return format_percent(runtime, pattern, Value::tuple({args.extra.begin(), args.extra.end()}));
}

const Value& string_self(Runtime& runtime, const Value& self, std::string_view filter) {
  if (self.is(Kind::kUndefined)) {
    runtime.refuse_undefined(self);
  }
  if (!self.is(Kind::kString)) {
    runtime.refuse(fmt::format("{}: expected a str, found '{}'", filter, type_name(self)));
  }
  return self;
}

Value indent(Runtime& runtime, const Bound& args) {
  const Value& text = string_self(runtime, args.self, "indent");
  Value indention;
  if (args.has(0) && args[0].is(Kind::kString)) {
    indention = args[0];
  } else {
    const int64_t width = args.has(0) ? int_argument(runtime, args[0], "indent") : 4;
    indention = pad(runtime, Value::string({}), width, " ", Align::kLeft);
  }
  const bool first = args.has(1) && is_true(args[1]);
  const bool blank = args.has(2) && is_true(args[2]);
  const std::vector<Value> lines = split_lines(runtime, text, false);
  TextBuilder out;
  if (first) {
    out.append(indention);
  }
  // As after text + "\n": an empty text and a text that ends in a line break have an empty last
  // line.
  // A final \r joins that \n.
  const bool has_empty_end =
      text.text().empty() || (ends_in_line_break(text.text()) && text.text().back() != '\r');
  const size_t n_lines = lines.size() + (has_empty_end ? 1 : 0);
  for (size_t i = 0; i < n_lines; ++i) {
    const bool is_empty = i >= lines.size() || lines[i].text().empty();
    out.append(i > 0 ? "\n" : "");
    if (i > 0 && (blank || !is_empty)) {
      out.append(indention);
    }
    if (!is_empty) {
      out.append(lines[i]);
    }
  }
  return out.take();
}

Value truncate(Runtime& runtime, const Bound& args) {
  const int64_t limit = args.has(0) ? int_argument(runtime, args[0], "truncate") : 255;
  const Value end = args.has(2) ? args[2] : Value::string("...");
  const int64_t leeway =
      args.has(3) && !args[3].is(Kind::kNone) ? int_argument(runtime, args[3], "truncate") : 5;
  if (limit < length(runtime, end) || leeway < 0 || !end.is(Kind::kString)) {
    runtime.refuse(
        fmt::format("truncate: expected length >= {} and leeway >= 0", length(runtime, end)));
  }
  if (length(runtime, args.self) <= limit + leeway) {
    return args.self;
  }
  const Value& text = string_self(runtime, args.self, "truncate");
  size_t cut = byte_of(text, limit - length_of(end));
  if (!args.has(1) || !is_true(args[1])) {
    const size_t blank = text.text().substr(0, cut).rfind(' ');
    cut = blank == std::string_view::npos ? cut : blank;
  }
  TextBuilder out;
  out.append_part(text, 0, cut);
  out.append(is_markup(text) ? escape_html(end) : end);
  return out.take();
}

Value wordcount(Runtime& runtime, const Bound& args) {
  const Value text = text_argument(runtime, args.self);
  int64_t n_words = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.text().size(); at += char_size(text.text(), at)) {
    const bool is_part = is_word(char_at(text.text(), at));
    n_words += is_part && !in_word ? 1 : 0;
    in_word = is_part;
  }
  return Value::integer(n_words);
}

// Where a long word may be broken: after a hyphen between letters.
bool breaks_after(std::string_view text, size_t at) {
  return text[at] == '-' && at >= 2 && at + 1 < text.size() &&
         is_alpha(char_at(text, char_before(text, at))) && is_alpha(char_at(text, at + 1));
}

// The chunks of a line, in which it may be broken between any two: blanks and words.
std::vector<std::pair<size_t, size_t>> chunks_of(std::string_view line, bool on_hyphens) {
  std::vector<std::pair<size_t, size_t>> chunks;
  size_t begin = 0;
  for (size_t at = 0; at < line.size(); at += char_size(line, at)) {
    const size_t next = at + char_size(line, at);
    const bool is_blank = line[at] == ' ' || line[at] == '\t';
    const bool is_end = next == line.size();
    const bool turns = !is_end && is_blank != (line[next] == ' ' || line[next] == '\t');
    if (is_end || turns || (on_hyphens && breaks_after(line, at))) {
      chunks.emplace_back(begin, next);
      begin = next;
    }
  }
  return chunks;
}

struct Wrap {
  int64_t width;
  bool breaks_long;
  bool on_hyphens;
};

// Where the first `room` characters of a chunk that is longer than a line end, or after their last
// hyphen where lines break there.
size_t long_piece_end(std::string_view text, size_t first, int64_t room, bool on_hyphens) {
  size_t cut = first;
  for (; room > 0; --room) {
    cut += char_size(text, cut);
  }
  const std::string_view head = text.substr(first, cut - first);
  const size_t hyphen = on_hyphens ? head.rfind('-') : head.npos;
  if (hyphen != head.npos && head.substr(0, hyphen).find_first_not_of('-') != head.npos) {
    cut = first + hyphen + 1;
  }
  return cut;
}

void wrap_line(Runtime& runtime, const Value& line, const Wrap& wrap, std::vector<Value>& out) {
  const std::string_view text = line.text();
  auto chunks = chunks_of(text, wrap.on_hyphens);
  std::reverse(chunks.begin(), chunks.end());
  const auto width_of = [&](const auto& chunk) {
    return count_chars(text.substr(chunk.first, chunk.second - chunk.first));
  };
  const auto is_blank = [&](const auto& chunk) {
    return skip_space(text, chunk.first, chunk.second) == chunk.second;
  };
  while (!chunks.empty()) {
    runtime.charge(4 +
                   (chunks.back().second - chunks.back().first) / 16);  // counted again each time
    if (is_blank(chunks.back()) && !out.empty()) {
      chunks.pop_back();
    }
    std::vector<std::pair<size_t, size_t>> taken;
    int64_t used = 0;
    while (!chunks.empty() && used + width_of(chunks.back()) <= wrap.width) {
      used += width_of(chunks.back());
      taken.push_back(chunks.back());
      chunks.pop_back();
    }
    if (!chunks.empty() && width_of(chunks.back()) > wrap.width) {
      auto& chunk = chunks.back();
      if (wrap.breaks_long) {
        const size_t cut = long_piece_end(text, chunk.first, wrap.width - used, wrap.on_hyphens);
        taken.emplace_back(chunk.first, cut);
        chunk.first = cut;
      } else if (taken.empty()) {
        taken.push_back(chunk);
        chunks.pop_back();
      }
    }
    if (!taken.empty() && is_blank(taken.back())) {
      taken.pop_back();
    }
    if (!taken.empty()) {
      out.push_back(part_of(line, taken.front().first, taken.back().second));
    }
  }
}

Value wordwrap(Runtime& runtime, const Bound& args) {
  const Value& text = string_self(runtime, args.self, "wordwrap");
  Wrap wrap{};
  wrap.width = args.has(0) ? int_argument(runtime, args[0], "wordwrap") : 79;
  wrap.breaks_long = !args.has(1) || is_true(args[1]);
  wrap.on_hyphens = !args.has(3) || is_true(args[3]);
  if (wrap.width <= 0) {
    runtime.refuse(fmt::format("invalid width {} (must be > 0)", wrap.width));
  }
  const Value separator = args.has(2) && !args[2].is(Kind::kNone) ? text_argument(runtime, args[2])
                                                                  : Value::string("\n");
  TextBuilder out;
  bool is_first = true;
  for (const Value& line : split_lines(runtime, text, false)) {
    std::vector<Value> pieces;
    wrap_line(runtime, line, wrap, pieces);
    for (size_t i = 0; i < std::max<size_t>(pieces.size(), 1); ++i) {
      if (!is_first) {
        out.append(separator);
      }
      is_first = false;
      if (!pieces.empty()) {
        out.append(pieces[i]);
      }
    }
  }
  return out.take();
}

constexpr std::array<Signature, 13> kFilters = {{
    {"capitalize", capitalize_text},
    {"center", center, "width"},
    {"format", format, "", 0, true, true},
    {"indent", indent, "width,first,blank"},
    {"lower", lower},
    {"replace", replace, "old,new,count", 2},
    {"string", string},
    {"title", title},
    {"trim", trim, "chars"},
    {"truncate", truncate, "length,killwords,end,leeway"},
    {"upper", upper},
    {"wordcount", wordcount},
    {"wordwrap", wordwrap, "width,break_long_words,wrapstring,break_on_hyphens"},
}};

}  // namespace

std::span<const Signature> text_filters() {
  return kFilters;
}

}  // namespace fathom::codec::jinja

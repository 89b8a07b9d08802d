// Cutting and joining by byte positions of valid UTF-8.
#include "codec/jinja_strings.h"

#include <fmt/format.h>

#include "codec/jinja_operators.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

constexpr int64_t kMaxWidth = 10'000'000;

bool has_char(std::string_view set, std::string_view character) {
  for (size_t at = 0; at < set.size(); at += char_size(set, at)) {
    if (set.substr(at, char_size(set, at)) == character) {
      return true;
    }
  }
  return false;
}

}  // namespace

Value lower_text(const Value& text) {
  if (text.as<StringObject>().runs.empty()) {
    return Value::string(to_lower(text.text()), text.origin());
  }
  return map_runs(text, to_lower);
}

Value capitalized(const Value& text) {
  bool is_first = true;
  return map_runs(text, [&](std::string_view piece) {
    return std::exchange(is_first, false) ? capitalize(piece) : to_lower(piece);
  });
}

Value strip(Runtime& runtime, const Value& text, const Value& chars, bool left, bool right) {
  const std::string_view bytes = text.text();
  size_t begin = 0;
  size_t end = bytes.size();
  if (chars.is_missing() || chars.is(Kind::kNone)) {
    begin = left ? skip_space(bytes, begin, end) : begin;
    end = right ? skip_space_back(bytes, begin, end) : end;
    return part_of(text, begin, end);
  }
  if (!chars.is(Kind::kString)) {
    runtime.refuse(fmt::format("strip arg must be None or str, not {}", type_name(chars)));
  }
  const std::string_view set = chars.text();
  while (left && begin < end && has_char(set, bytes.substr(begin, char_size(bytes, begin)))) {
    begin += char_size(bytes, begin);
  }
  while (right && end > begin) {
    const size_t before = char_before(bytes, end);
    if (!has_char(set, bytes.substr(before, end - before))) {
      break;
    }
    end = before;
  }
  return part_of(text, begin, end);
}

Value replace_text(Runtime& runtime, const Value& text, const Value& old, const Value& with,
                   int64_t count) {
  const std::string_view bytes = text.text();
  const std::string_view what = old.text();
  runtime.charge(bytes.size() / 64);
  TextBuilder out;
  size_t at = 0;
  if (what.empty()) {  // between all characters
    while (count != 0) {
      out.append(with);
      --count;
      if (at == bytes.size()) {
        return out.take();
      }
      out.append_part(text, at, at + char_size(bytes, at));
      at += char_size(bytes, at);
    }
    out.append_part(text, at, bytes.size());
    return out.take();
  }
  size_t n_found = 0;
  while (count != 0) {
    const size_t found = bytes.find(what, at);
    if (found == std::string_view::npos) {
      break;
    }
    out.append_part(text, at, found);
    out.append(with);
    at = found + what.size();
    --count;
    ++n_found;
  }
  if (n_found == 0) {
    return text;
  }
  runtime.charge(n_found);
  out.append_part(text, at, bytes.size());
  return out.take();
}

Value pad(Runtime& runtime, const Value& text, int64_t width, std::string_view fill, Align align) {
  if (width > kMaxWidth) {
    runtime.refuse(fmt::format("a width of {}, at most {}", width, kMaxWidth));
  }
  const int64_t room = std::max<int64_t>(width - length_of(text), 0);
  // Python puts the odd one to the left of an odd width.
  int64_t left = align == Align::kLeft ? 0 : align == Align::kRight ? room : room / 2;
  if (align == Align::kCenter && room % 2 == 1 && width % 2 == 1) {
    ++left;
  }
  TextBuilder out;
  const auto add = [&](int64_t n) {
    std::string filling;
    for (; n > 0; --n) {
      filling += fill;
    }
    out.append(filling);
  };
  add(left);
  out.append(text);
  add(room - left);
  return out.take();
}

bool ends_in_line_break(std::string_view text) {
  return !text.empty() && is_line_break(char_at(text, char_before(text, text.size())));
}

std::vector<Value> split_lines(Runtime& runtime, const Value& text, bool keep_ends) {
  const std::string_view bytes = text.text();
  std::vector<Value> lines;
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    size_t next = at + char_size(bytes, at);
    if (!is_line_break(char_at(bytes, at))) {
      at = next;
      continue;
    }
    if (bytes[at] == '\r' && next < bytes.size() && bytes[next] == '\n') {
      ++next;
    }
    lines.push_back(part_of(text, begin, keep_ends ? next : at));
    begin = next;
    at = next;
  }
  if (begin < bytes.size()) {
    lines.push_back(part_of(text, begin, bytes.size()));
  }
  runtime.charge(4 * lines.size());
  return lines;
}

}  // namespace fathom::codec::jinja

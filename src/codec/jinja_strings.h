// Operations on strings that both filters and methods offer.
// Called by codec/jinja_filters_text, codec/jinja_methods_string. Read next: codec/jinja_text.h.
#pragma once

#include <string_view>
#include <vector>

#include "codec/jinja_runtime.h"
#include "codec/jinja_text.h"
#include "codec/utf8.h"

namespace fathom::codec::jinja {

// All strings are kString; pieces keep their origins.

// Calls fn(std::string_view one_character) -> std::string for each character.
template <class F>
Value map_chars(const Value& text, F fn) {
  return map_runs(text, [&](std::string_view piece) {
    std::string out;
    out.reserve(piece.size());
    for (size_t at = 0; at < piece.size(); at += char_size(piece, at)) {
      out += fn(piece.substr(at, char_size(piece, at)));
    }
    return out;
  });
}

Value lower_text(const Value& text);
Value capitalized(const Value& text);

// Without the characters of `chars` at the ends; none given (or None): white space.
Value strip(Runtime& runtime, const Value& text, const Value& chars, bool left, bool right);

// The first `count` places (all for a negative number).
Value replace_text(Runtime& runtime, const Value& text, const Value& old, const Value& with,
                   int64_t count);

enum class Align { kLeft, kRight, kCenter };
// Filled up to `width` characters with `fill`, one character. Error: kInvalidArgument for a width
// that no template needs.
Value pad(Runtime& runtime, const Value& text, int64_t width, std::string_view fill, Align align);

std::vector<Value> split_lines(Runtime& runtime, const Value& text, bool keep_ends);
bool ends_in_line_break(std::string_view text);

}  // namespace fathom::codec::jinja

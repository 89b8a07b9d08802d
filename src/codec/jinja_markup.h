// Strings that the filters safe and escape have marked as HTML: what is added to them is escaped,
// as jinja2's Markup does even where nothing else escapes. Called by codec/jinja_operators,
// codec/jinja_eval and the built-ins. Read next: codec/jinja_strings.h.
#pragma once

#include <string_view>

#include "codec/jinja_value.h"

namespace fathom::codec::jinja {

inline bool is_markup(const Value& value) {
  return value.is(Kind::kString) && value.as<StringObject>().is_markup;
}

// The text, marked.
Value as_markup(const Value& text);

// & < > " ' as entities; marked text stays as it is.
Value escape_html(const Value& text);

// What a method of `self` gives: marked where `self` is, in lists and tuples too.
Value like_markup(const Value& self, const Value& result);

// Whether a filter works on marked text as the method of the same name.
bool keeps_markup(std::string_view filter);

}  // namespace fathom::codec::jinja

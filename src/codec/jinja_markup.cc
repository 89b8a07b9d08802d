// Marked text is a copy: strings do not change.
#include "codec/jinja_markup.h"

#include <algorithm>
#include <array>

#include "codec/jinja_strings.h"

namespace fathom::codec::jinja {

Value as_markup(const Value& text) {
  if (is_markup(text)) {
    return text;
  }
  auto* object = new StringObject;
  object->bytes = text.text();
  object->runs = text.as<StringObject>().runs;
  object->is_markup = true;
  return {Kind::kString, object, text.origin()};
}

Value escape_html(const Value& text) {
  if (is_markup(text)) {
    return text;
  }
  return map_chars(text, [](std::string_view c) -> std::string {
    return c == "&"    ? "&amp;"
           : c == "<"  ? "&lt;"
           : c == ">"  ? "&gt;"
           : c == "'"  ? "&#39;"
           : c == "\"" ? "&#34;"
                       : std::string(c);
  });
}

Value like_markup(const Value& self, const Value& result) {
  if (!is_markup(self)) {
    return result;
  }
  if (result.is(Kind::kString)) {
    return as_markup(result);
  }
  if (!result.is(Kind::kList) && !result.is(Kind::kTuple)) {
    return result;
  }
  std::vector<Value> items;
  for (const Value& item : result.as<SequenceObject>().items) {
    items.push_back(item.is(Kind::kString) ? as_markup(item) : item);
  }
  return result.is(Kind::kList) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

bool keeps_markup(std::string_view filter) {
  constexpr std::array<std::string_view, 10> kFilters = {
      "upper",  "lower",  "capitalize", "center",   "trim",
      "string", "format", "indent",     "truncate", "reverse"};
  return std::find(kFilters.begin(), kFilters.end(), filter) != kFilters.end();
}

}  // namespace fathom::codec::jinja

// JSON to values and back: what variables are read from, and the filter tojson.
// Called by codec/jinja_template, codec/jinja_filters_value. Read next: codec/jinja_value.h.
#pragma once

#include <string>
#include <string_view>

#include "codec/jinja_runtime.h"
#include "codec/jinja_text.h"

namespace fathom::codec::jinja {

// Reads JSON. Keys keep their order, of equal ones the last value counts; integers keep all digits.
// With `origins`, every value gets an origin of its own below `root`; without, all have `root`.
// Errors: kInvalidArgument with the byte; `what` names the text.
Value parse_json(std::string_view text, Origins* origins, OriginId root, std::string_view what);

struct JsonStyle {
  bool ensure_ascii = false;
  bool has_indent = false;
  std::string indent;  // of one level
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

// Python's json.dumps. Strings keep their origins; what is between them has that of its container.
// Error: kInvalidArgument for values that JSON does not have.
Value dump_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace fathom::codec::jinja

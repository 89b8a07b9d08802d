// Values as text: Python's str() and repr(), and its shortest floats.
// Called by codec/jinja_eval, codec/jinja_json and the built-ins. Read next: codec/jinja_json.h.
#pragma once

#include <string>
#include <string_view>

#include "codec/jinja_runtime.h"
#include "codec/jinja_text.h"

namespace fathom::codec::jinja {

// "1.0", "1e-07", "0.30000000000000004", "inf", "nan"
std::string print_float(double value);

// str(value) as a kString. A string is itself; parts of a list keep their origins.
Value to_text(Runtime& runtime, const Value& value);
// Adds str(value).
void print(Runtime& runtime, TextBuilder& out, const Value& value);
// Adds repr(value).
void print_repr(Runtime& runtime, TextBuilder& out, const Value& value);
// repr of text: quotes chosen and characters escaped as Python does.
std::string repr_of(std::string_view text);

}  // namespace fathom::codec::jinja

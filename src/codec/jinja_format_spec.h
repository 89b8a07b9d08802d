// One field of a pattern: flags, width, precision, type, and how a value is written by them.
// Called by codec/jinja_format. Read next: codec/jinja_print.h.
#pragma once

#include <string>
#include <string_view>

#include "codec/jinja_runtime.h"

namespace fathom::codec::jinja {

struct FieldSpec {
  std::string fill = " ";  // one character
  char align = '\0';       // '<' '>' '^' '='; none: numbers to the right, others to the left
  char sign = '\0';        // '+' and ' ' also mark positive numbers
  bool alternate = false;  // '#'
  char grouping = '\0';    // ',' or '_'
  int64_t width = 0;
  int64_t precision = -1;  // none
  char type = '\0';
};

// The digits of a number by `spec`, with sign and grouping, not padded. `type`: one of
// "bcdoxXeEfFgGn%" or none. Error: kInvalidArgument for a type that the value does not have.
std::string format_number(Runtime& runtime, const Value& number, const FieldSpec& spec);

// Adds `text` padded to the width; '=' pads between sign and digits.
void append_padded(Runtime& runtime, TextBuilder& out, const Value& text, const FieldSpec& spec,
                   char default_align);

}  // namespace fathom::codec::jinja

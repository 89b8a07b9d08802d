// Text to numbers and rounding, as Python's int(), float() and round() do it.
// Called by codec/jinja_filters_value, codec/jinja_json. Read next: codec/jinja_bigint.h.
#pragma once

#include <string_view>

#include "codec/jinja_runtime.h"

namespace fathom::codec::jinja {

// int(text, base): white space, sign, '_' between digits, a prefix where the base is 0 or fits it.
// kMissing for what is no number. Error: kInvalidArgument for a base that does not exist.
Value parse_integer(Runtime& runtime, std::string_view text, int64_t base);

// float(text): also "inf", "nan", "1e5", "1_000.5".
bool parse_float(std::string_view text, double& number);

// Half to even, decided on the exact value.
double round_float(double value, int64_t digits);
// To a multiple of 10 ** n_zeros.
Value round_integer(Runtime& runtime, const Value& integer, int64_t n_zeros);

}  // namespace fathom::codec::jinja

// The two ways in which Python puts values into a pattern: "%s %d" and "{} {:>8}".
// Called by codec/jinja_operators, codec/jinja_methods_string, codec/jinja_filters_text. Read next:
// codec/jinja_print.h.
#pragma once

#include "codec/jinja_runtime.h"

namespace fathom::codec::jinja {

// pattern % arguments; a tuple gives several, a dict those of "%(name)s". Refuses what Python
// refuses.
Value format_percent(Runtime& runtime, const Value& pattern, const Value& arguments);

// pattern.format(*positional, **keywords)
Value format_braces(Runtime& runtime, const Value& pattern, const Arguments& arguments);

}  // namespace fathom::codec::jinja

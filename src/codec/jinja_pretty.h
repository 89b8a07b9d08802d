// The filter pprint: a value over several lines where one is too long.
// Called by codec/jinja_filters_value. Read next: codec/jinja_print.h.
#pragma once

#include "codec/jinja_runtime.h"

namespace fathom::codec::jinja {

// As Python's pprint.pformat with 80 columns: keys sorted, one item a line where the whole does not
// fit. Long strings are not broken.
Value pretty(Runtime& runtime, const Value& value);

}  // namespace fathom::codec::jinja

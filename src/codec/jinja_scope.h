// Which variable each name means, decided once per template by jinja2's rules of scope.
// Called by codec/jinja_template. Read next: codec/jinja_runtime.h.
#pragma once

#include "codec/jinja_ast.h"

namespace fathom::codec::jinja {

// Gives every name of `body` its place, and every region what it loads at its start. A name belongs
// to the innermost region that assigns it anywhere; elsewhere it is what the regions around have,
// and at last what the render's variables have. Errors: kInvalidArgument (unknown filter or test,
// break outside of a loop, an assignment to `loop`), kResourceExhausted.
Program resolve_names(Body body);

}  // namespace fathom::codec::jinja

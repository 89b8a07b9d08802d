// --override KEY=VALUE for a whole model: a key that is neither in the file nor read by anything is
// a slip of the pen, not a new key.
// Called by api/session, apps (inspect, tokenize). Read next: weights/metadata_override.h.
#pragma once

#include <span>
#include <string>

#include "weights/model_file.h"

namespace fathom::api {

// Applies the texts in order (weights::apply_override). A key that the file does not have must be
// one that its architecture, its tokenizer or the recommended sampling would read; where the
// architecture is unknown or its config broken, nothing is refused for that. Errors:
// kInvalidArgument, naming the key and the nearest ones that are there or would be read; those of
// weights::apply_override.
void apply_overrides(weights::ModelFile& file, std::span<const std::string> texts);

}  // namespace fathom::api

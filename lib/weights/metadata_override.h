// Sets a key of a model file's metadata from a text that a user gave: --override KEY=VALUE.
// Called by apps (the flag), before a model is made of the metadata. Read next: weights/metadata.h.
#pragma once

#include <string_view>

#include "weights/metadata.h"

namespace fathom::weights {

// `text` is KEY=VALUE; the key ends at the first '=', and is spelled as `fathom inspect` prints it
// ("rope_scaling.factor", "llama.context_length"). VALUE is read by the type that the key has:
// an integer, a number, true or false, a text (as it stands, without quotes), or a JSON array of
// the same kind. In a Hugging Face config, where JSON knows one kind of number, a whole number may
// be replaced by a fraction. "null" takes the key away, whatever its type, and all keys below it. A
// key that is not there, or is null, takes any JSON scalar or array of scalars; a text then needs
// its quotes. Error: kInvalidArgument, naming key, text and expected type; `metadata` is then
// unchanged.
void apply_override(Metadata& metadata, std::string_view text);

}  // namespace fathom::weights

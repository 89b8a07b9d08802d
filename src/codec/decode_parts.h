// Decoding steps that work on one token in parts.
// Called by codec/decode_steps. Read next: codec/decode_parts.cc.
#pragma once

#include <memory>
#include <string>

#include "codec/decode_step.h"

namespace fathom::codec {

// Waits for the whole token, then hands it to `whole`.
std::unique_ptr<DecodeFlow> gather_parts(std::unique_ptr<DecodeFlow> whole);

// Every `from` (not empty) becomes `to`, also where it is spread over parts; what may be the
// beginning of one is kept back.
std::unique_ptr<DecodeFlow> replace_parts(std::string from, std::string to);

}  // namespace fathom::codec

// The part of a tokenizer.json that says what stands around a text.
// Called by codec/tokenizer_json. Read next: codec/json_template.cc.
#pragma once

#include <vector>

#include "codec/json_part.h"
#include "codec/tokenizer.h"

namespace fathom::codec {

// Ids before and after a text. [n_vocab] bounds them.
struct AroundText {
  std::vector<TokenId> prefix, suffix;
};

// `part` may be null. Errors: kUnsupported for a kind that is not known or a template that does not
// hold the text exactly once; kCorruptFile for ids out of range.
AroundText read_post_processor(const JsonPart& part, size_t n_vocab);

}  // namespace fathom::codec

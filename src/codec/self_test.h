// A tokenizer just built is asked for what every tokenizer of its kind must answer.
// Called by codec/tokenizer, codec/tokenizer_files. Read next: codec/self_test.cc.
#pragma once

#include <memory>

#include "codec/text_tokenizer.h"

namespace fathom::codec {

// Gives the tokenizer back. Error: kCorruptFile, with probe, found and expected, when a probe text
// gives ids out of range, is not decoded to itself by a tokenizer that loses nothing, or when the
// stream of a decoder differs from the whole. A few microseconds.
std::unique_ptr<Tokenizer> check_tokenizer(std::unique_ptr<TextTokenizer> tokenizer);

}  // namespace fathom::codec

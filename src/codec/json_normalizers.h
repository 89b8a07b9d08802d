// The parts of a tokenizer.json that say what happens before and after the model.
// Called by codec/tokenizer_json. Read next: codec/json_normalizers.cc, codec/json_steps.cc,
// codec/json_decoders.cc.
#pragma once

#include <vector>

#include "codec/decode_step.h"
#include "codec/json_part.h"
#include "codec/normalizer.h"
#include "codec/pre_tokenizer.h"

namespace fathom::codec {

// All: a kind that is not known is refused by name (kUnsupported); settings of the wrong type are
// kCorruptFile. A part may be null.

// Null for none.
NormalizerPtr read_normalizer(const JsonPart& part);

struct ReadSteps {
  std::vector<PreTokenizerStepPtr> steps;
  // The last step spells words in the byte alphabet and was left out: the model reads raw bytes.
  bool byte_level_words = false;
  bool keeps_text = true;  // the words together are the text
};

// `may_leave_respelling`: the model can read raw bytes, so that a final ByteLevel step need not
// respell.
ReadSteps read_pre_tokenizer(const JsonPart& part, bool may_leave_respelling);

std::vector<DecodeStepPtr> read_decoder(const JsonPart& part);

// {"String": ...} or {"Regex": ...}, or a text by itself.
Pattern read_pattern(const JsonPart& part);

// A text of one character.
char32_t read_character(const JsonPart& part);

}  // namespace fathom::codec

// Ids to text pieces as they come: never half a UTF-8 character, and stop strings held back while
// undecided.
// Called by api/generator. Thread rule: one stream, one thread.
#pragma once

#include <string>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder. `stops`: strings that end the answer; empty ones are
  // refused (kInvalidArgument).
  StreamDecoder(const Tokenizer& tokenizer, std::vector<std::string> stops);

  struct Piece {
    std::string text;      // certain text, whole characters only; may be empty
    bool stopped = false;  // a stop string is complete: text ends before it, push no more
  };

  // Adds one token. Control tokens add nothing.
  Piece push(TokenId id);

  // The answer ends for another reason: releases what was held back (an unfinished character
  // becomes U+FFFD).
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::string> stops_;
  std::string held_;    // undecided bytes: an open character, or the beginning of a stop string
  bool first_ = true;
  bool stopped_ = false;
};

}  // namespace fathom::codec

// Ids to text pieces as they come: never half a UTF-8 character, and stop strings held back while
// undecided.
// Called by api/generator. Thread rule: one stream, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder. `stops`: strings that end the answer; empty ones are
  // refused (kInvalidArgument). `continues_text`: the ids go on from a text (a raw completion), so
  // the first blank is kept; otherwise the pieces together equal decode(ids, false).
  StreamDecoder(const Tokenizer& tokenizer, std::vector<std::string> stops,
                bool continues_text = false);

  struct Piece {
    std::string text;      // certain text, whole characters only; may be empty
    bool stopped = false;  // a stop string is complete: text ends before it, push no more. Of
                           // several, the one complete first wins, then the longer one.
    std::string stop;      // that string
  };

  // Adds one token. Control tokens add nothing.
  Piece push(TokenId id);

  // Adds one token whose text is no part of a stop string; what was held back comes with it.
  Piece push_unwatched(TokenId id);

  // The answer ends for another reason: releases what was held back (an unfinished character
  // becomes U+FFFD).
  std::string finish();

 private:
  // How much of one stop string the end of the text spells (Knuth, Morris, Pratt).
  struct StopMatch {
    std::string stop;
    std::vector<uint32_t> fallback;  // [stop bytes]: length to go on with after a mismatch
    size_t matched = 0;              // bytes of `stop` that the text ends with; < stop.size()
  };

  // Runs valid UTF-8 through the stop strings; gives what is certain now.
  Piece feed(std::string_view text);

  std::unique_ptr<DecodeStream> stream_;
  std::vector<StopMatch> stops_;
  std::string held_;  // undecided text: the beginning of a stop string
  bool stopped_ = false;
};

}  // namespace fathom::codec

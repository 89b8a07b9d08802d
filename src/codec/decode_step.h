// One step of decoding: tokens in, tokens or parts of one token out, as they come.
// Called by codec/decode_chain. Read next: codec/decode_steps.cc. Source: the decoders of Hugging
// Face tokenizers, whose names the steps keep.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codec/pattern.h"

namespace fathom::codec {

// Takes what a step gives.
class DecodeSink {
 public:
  virtual ~DecodeSink() = default;
  virtual void put(std::string_view token) = 0;
};

// A step at work on one answer.
class DecodeFlow {
 public:
  virtual ~DecodeFlow() = default;

  // The next token. Where an earlier step has made all tokens one ("fused"), the next part of it.
  virtual void put(std::string_view token, DecodeSink& next) = 0;

  // There is no more: gives what was kept back.
  virtual void finish(DecodeSink& next) { static_cast<void>(next); }
};

class DecodeStep {
 public:
  virtual ~DecodeStep() = default;

  // The text of a token where it depends on that token alone; nothing for a step that needs to know
  // what stands before or after. Such a step is applied to the whole vocabulary once.
  [[nodiscard]] virtual std::optional<std::string> map(std::string_view token) const {
    static_cast<void>(token);
    return std::nullopt;
  }

  // Whether the steps after this one see one token in parts.
  [[nodiscard]] virtual bool fuses() const { return false; }

  // `at_start`: the first token put is the first of the text. `fused`: see put(). Where a step has
  // no way to work on parts it waits for the end.
  [[nodiscard]] virtual std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const = 0;
};

using DecodeStepPtr = std::unique_ptr<const DecodeStep>;

DecodeStepPtr make_decode_replace(std::string from, std::string to);
DecodeStepPtr make_decode_replace_pattern(Pattern pattern, std::string to);
DecodeStepPtr make_decode_byte_level();     // the byte alphabet to bytes; to be followed by repair
DecodeStepPtr make_decode_byte_fallback();  // runs of <0x00> ... <0xFF> to text, if it is valid
DecodeStepPtr make_decode_fuse();
DecodeStepPtr make_decode_strip(char32_t content, size_t start, size_t stop);
DecodeStepPtr make_decode_metaspace(std::string replacement, bool drops_first);
DecodeStepPtr make_decode_word_piece(std::string prefix, bool cleanup);
DecodeStepPtr make_decode_suffix(std::string suffix);  // BPEDecoder
DecodeStepPtr make_decode_ctc(std::string pad, std::string delimiter, bool cleanup);
DecodeStepPtr make_decode_join();  // no decoder: a blank between tokens

// Bytes to valid UTF-8: U+FFFD for each maximal subpart of an ill-formed sequence, or for each of
// its bytes. Fuses.
DecodeStepPtr make_decode_repair(bool each_byte);

// The blank at the begin of the first token goes; with `all`, as long as nothing else has come. The
// token `kept`, the unknown one's text, loses nothing.
DecodeStepPtr make_decode_first_blank(bool all, std::string kept = {});

}  // namespace fathom::codec

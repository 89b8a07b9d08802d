// The end of the engine's line: ids of one choice to text, stop strings, and news for the writer.
// Called by the step thread through engine::TextSink. Read next: codec/detokenizer.h,
// api/openai/answer.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai/parts.h"
#include "codec/detokenizer.h"
#include "engine/request.h"

namespace fathom::api::openai {

struct ChoiceOptions {
  std::vector<std::string> stops = {};
  std::vector<int32_t> stop_ids = {};  // of the request: named in stop_reason
  int64_t min_tokens = 0;              // stop strings in so many first tokens end nothing
  bool include_stop = false;           // the stop string stays in the text
  bool keep_tokens = false;            // logprobs or ids were asked for
  bool is_silent = false;  // max_tokens 0: the one token that the engine draws is dropped
  bool continues_text = false;
};

class ChoiceSink final : public engine::TextSink {
 public:
  // `publish` takes news, on the step thread, and returns quickly. The tokenizer must outlive it.
  ChoiceSink(const codec::Tokenizer& tokenizer, ChoiceOptions options,
             std::function<void(ChoiceNews)> publish);

  void on_prompt(std::span<const sample::Sampled> logprobs) override;
  bool on_token(const engine::TokenEvent& event) override;
  void on_finish(engine::FinishReason reason, const engine::Usage& usage,
                 std::string_view message) override;

 private:
  const codec::Tokenizer* tokenizer_;
  ChoiceOptions options_;
  codec::StreamDecoder decoder_;
  std::function<void(ChoiceNews)> publish_;
  int64_t n_tokens_ = 0;
  ChoiceEnd end_;
  bool is_stopped_ = false;  // by a stop string
};

}  // namespace fathom::api::openai

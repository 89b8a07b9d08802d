// What travels from the step thread to the writer: text and tokens of a choice, and its end.
// Called by api/openai/choice_sink, api/openai/answer, api/openai/answer_json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"

namespace fathom::api::openai {

// One token of an answer, where logprobs or ids were asked for.
struct TokenPart {
  sample::Sampled sampled;
  bool is_end = false;  // an end token, which has no text
};

struct ChoiceEnd {
  engine::FinishReason reason = engine::FinishReason::kStop;
  engine::Usage usage;
  std::string message;             // of kError
  std::string stop_text;           // the stop string that ended it
  std::optional<int32_t> stop_id;  // or the end token
};

// News of one choice since the last time, or all of it.
struct ChoiceNews {
  std::string text;
  std::vector<TokenPart> tokens;
  std::vector<sample::Sampled> prompt;  // logprobs of the prompt's tokens from the second on
  std::vector<engine::Clock::time_point> times;  // of each token
  std::optional<ChoiceEnd> end;

  // Takes over what came later.
  void add(ChoiceNews&& later);
};

}  // namespace fathom::api::openai

// Only what must happen before the next step happens here: whether the answer ends.
// Called by the step thread. Read next: api/openai/answer.cc.
#include "api/openai/choice_sink.h"

#include <algorithm>
#include <utility>

#include "api/openai/token_names.h"

namespace fathom::api::openai {

ChoiceSink::ChoiceSink(const codec::Tokenizer& tokenizer, ChoiceOptions options,
                       std::function<void(ChoiceNews)> publish)
    : tokenizer_(&tokenizer),
      options_(std::move(options)),
      decoder_(tokenizer, options_.stops, options_.continues_text),
      publish_(std::move(publish)) {}

void ChoiceSink::on_prompt(std::span<const sample::Sampled> logprobs) {
  ChoiceNews news;
  news.prompt.assign(logprobs.begin(), logprobs.end());
  publish_(std::move(news));
}

bool ChoiceSink::on_token(const engine::TokenEvent& event) {
  ChoiceNews news;
  news.times.push_back(engine::Clock::now());
  if (options_.is_silent) {
    publish_(std::move(news));
    return true;
  }
  ++n_tokens_;
  if (options_.keep_tokens) {
    TokenPart& part = news.tokens.emplace_back();
    if (event.sampled != nullptr) {
      part.sampled = *event.sampled;
    }
    part.sampled.id = event.id;
    part.is_end = event.is_end;
  }
  if (event.is_end) {
    if (std::ranges::find(options_.stop_ids, event.id) != options_.stop_ids.end()) {
      end_.stop_id = event.id;
    }
  } else if (has_text(*tokenizer_, event.id)) {
    codec::StreamDecoder::Piece piece = n_tokens_ <= options_.min_tokens
                                            ? decoder_.push_unwatched(event.id)
                                            : decoder_.push(event.id);
    news.text = std::move(piece.text);
    is_stopped_ = piece.stopped;
    if (is_stopped_) {
      news.text += options_.include_stop ? piece.stop : "";
      end_.stop_text = std::move(piece.stop);
    }
  }
  publish_(std::move(news));
  return !is_stopped_;
}

void ChoiceSink::on_finish(engine::FinishReason reason, const engine::Usage& usage,
                           std::string_view message) {
  ChoiceNews news;
  if (!is_stopped_ && !options_.is_silent) {
    news.text = decoder_.finish();
  }
  end_.reason = is_stopped_ ? engine::FinishReason::kStop : reason;
  end_.usage = usage;
  end_.message = message;
  if (options_.is_silent) {
    end_.usage.generated_tokens = 0;
    end_.reason = reason == engine::FinishReason::kStop ? engine::FinishReason::kLength : reason;
  }
  news.end = std::move(end_);
  publish_(std::move(news));
}

}  // namespace fathom::api::openai

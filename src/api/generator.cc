// Joins the engine's ids with the decoder's text: one request, step by step, until it ends.
// Read next: engine/engine.h, codec/detokenizer.h.
#include "api/generator.h"

#include <chrono>
#include <exception>
#include <optional>

#include "base/error.h"
#include "codec/detokenizer.h"

namespace fathom::api {

namespace {

class GeneratorSink final : public engine::TextSink {
 public:
  GeneratorSink(const Session& session, const GenerateOptions& options)
      : options_(&options), start_(std::chrono::steady_clock::now()) {
    if (session.tokenizer() != nullptr) {
      decoder_.emplace(*session.tokenizer(), options.stops, options.continues_text);
    } else if (!options.stops.empty()) {
      fail(ErrorCode::kUnsupported,
           "stop strings need a vocabulary, and this model folder has none "
           "that Fathom reads; leave --stop away");
    }
  }

  bool on_token(const engine::TokenEvent& event) override {
    if (result_.tokens.empty()) {
      const auto now = std::chrono::steady_clock::now();
      result_.ttft_s = std::chrono::duration<double>(now - start_).count();
    }
    result_.tokens.push_back(event.id);
    if (options_->sampling.n_logprobs >= 0 && event.sampled != nullptr) {
      result_.logprobs.push_back({event.id, event.sampled->logprob, event.sampled->best});
    }
    if (event.is_end || !decoder_) {
      return true;
    }
    const codec::StreamDecoder::Piece piece = decoder_->push(event.id);
    emit(piece.text);
    is_stopped_ = piece.stopped;
    return !is_stopped_ && !failure_;
  }

  void on_finish(engine::FinishReason reason, const engine::Usage& usage,
                 std::string_view message) override {
    if (decoder_ && !is_stopped_) {
      emit(decoder_->finish());
    }
    result_.reason = is_stopped_ ? engine::FinishReason::kStop : reason;
    result_.usage = usage;
    message_ = message;
    is_finished_ = true;
  }

  [[nodiscard]] bool is_finished() const { return is_finished_; }

  // Errors: what on_text threw; kInternal with the engine's message after a numeric fault.
  GenerateResult take_result() {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
    if (result_.reason == engine::FinishReason::kError) {
      fail(ErrorCode::kInternal, message_);
    }
    return std::move(result_);
  }

 private:
  // Hands text on. What the reader throws must not pass through the engine: it is kept, and the
  // request ends.
  void emit(std::string_view text) {
    if (text.empty()) {
      return;
    }
    result_.text += text;
    if (options_->on_text && !failure_) {
      try {
        options_->on_text(text);
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
  }

  const GenerateOptions* options_;
  std::chrono::steady_clock::time_point start_;
  std::optional<codec::StreamDecoder> decoder_;
  GenerateResult result_;
  std::string message_;
  std::exception_ptr failure_;
  bool is_stopped_ = false;
  bool is_finished_ = false;
};

}  // namespace

GenerateResult generate(Session& session, const GenerateOptions& options) {
  GeneratorSink sink(session, options);
  engine::Engine& engine = session.engine();
  engine::Request request;
  request.prompt = options.prompt;
  request.sampling = options.sampling;
  request.max_tokens = options.max_tokens;
  request.choice = options.choice;
  if (!options.ignore_eos) {
    request.end_tokens = session.end_tokens();
  }
  const engine::RequestId id = engine.submit(std::move(request), sink);
  bool goes_on = true;
  while (!sink.is_finished() && goes_on) {
    goes_on = engine.step();
    if (options.on_step) {
      options.on_step(engine.n_rows_computed());
    }
    if (options.cancelled && options.cancelled()) {
      engine.cancel(id);
    }
  }
  return sink.take_result();
}

}  // namespace fathom::api

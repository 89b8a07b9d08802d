// One request under way: news of its choices in, its answer out, whole or as events.
// Called by api/openai/handler. Read next: api/openai/choice_sink.h, api/openai/answer_json.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/exchange.h"
#include "api/openai/answer_json.h"
#include "api/openai/choice_sink.h"
#include "api/openai/errors.h"
#include "api/openai/worker.h"

namespace fathom::api::openai {

// The client of one request, who may leave at any time.
class Client {
 public:
  // Asks the responder to say when the client is gone.
  static std::shared_ptr<Client> watch(std::shared_ptr<http::Responder> responder);

  [[nodiscard]] http::Responder& responder() const { return *responder_; }

  [[nodiscard]] bool is_gone() const;

  // Calls `then` once the client is gone; at once if that is so already.
  void when_gone(std::function<void()> then);

 private:
  void leave();

  std::shared_ptr<http::Responder> responder_;
  mutable std::mutex lock_;
  bool is_gone_ = false;
  std::function<void()> then_;
};

// Kept alive by its sinks. Sinks are called on the step thread; what is written, is written by the
// worker, in order.
class Answer : public std::enable_shared_from_this<Answer> {
 public:
  // The tokenizer, the worker and `records` (may be null) must outlive the answer. `record` has
  // what is known before the first token. `headers` come with the answer.
  struct Parts {
    const codec::Tokenizer* tokenizer = nullptr;
    Worker* writer = nullptr;
    http::RecordSink* records = nullptr;
    std::shared_ptr<Client> client;
    http::Headers headers;
    http::RequestRecord record;
    engine::Clock::time_point arrived;
  };

  Answer(Parts parts, AnswerFacts facts);

  // The sink of one choice: prompt * n_choices + its index among those.
  std::shared_ptr<engine::TextSink> make_sink(size_t choice, ChoiceOptions options);

  // Ends an answer that waits for its turn when its client leaves.
  void watch_client();

  // The request waits for its turn: a stream begins all the same, so that it is kept alive.
  void begin_waiting();

  // True once: the caller decides what becomes of the request. False: it has ended.
  [[nodiscard]] bool take_turn();

  // The engine does not get the request. `message` empty: the cause's own. After take_turn(); any
  // thread.
  void refuse(Cause cause, std::string message = {});

  // The engine has the request: a stream begins. `cancel` ends what is left of it; it is called
  // from any thread when the client is gone, or a choice has failed.
  void begin(std::function<void()> cancel);

 private:
  void take(size_t choice, ChoiceNews news);
  void write();
  bool write_news();  // true: all choices have ended
  void write_choice(size_t choice, ChoiceNews news, std::string& out);
  void finish(std::string& out);
  void fail(Cause why, const std::string& given);
  void begin_stream();
  void cancel_rest();
  void count_times(size_t choice, const std::vector<engine::Clock::time_point>& times);
  void record_end();

  Parts parts_;

  // Shared between threads.
  std::mutex lock_;
  std::vector<ChoiceNews> news_;  // since the writer last looked
  bool is_posted_ = false;        // the writer will look
  bool had_turn_ = false;
  std::function<void()> cancel_;

  // Of the writer alone.
  AnswerJson json_;
  std::vector<ChoiceNews> choices_;                    // all of it, where it is not streamed
  std::vector<engine::Clock::time_point> last_token_;  // of each choice
  AnswerUsage usage_;
  size_t n_ended_ = 0;
  bool has_begun_ = false;  // the stream
  bool has_failed_ = false;
  double inter_token_sum_s_ = 0;
};

}  // namespace fathom::api::openai

// News wait in one place until the writer looks, so a slow writer gets fewer and larger ones.
// Called by the step thread (take), the writer (write). Read next: api/openai/answer_json.cc.
#include "api/openai/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace fathom::api::openai {

namespace {

double seconds_between(engine::Clock::time_point from, engine::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::shared_ptr<Client> Client::watch(std::shared_ptr<http::Responder> responder) {
  auto client = std::make_shared<Client>();
  client->responder_ = std::move(responder);
  client->responder_->on_gone([weak = std::weak_ptr(client)] {
    if (const auto self = weak.lock()) {
      self->leave();
    }
  });
  return client;
}

bool Client::is_gone() const {
  const std::lock_guard guard(lock_);
  return is_gone_;
}

void Client::when_gone(std::function<void()> then) {
  {
    const std::lock_guard guard(lock_);
    if (!is_gone_) {
      then_ = std::move(then);
      return;
    }
  }
  then();
}

void Client::leave() {
  std::function<void()> then;
  {
    const std::lock_guard guard(lock_);
    is_gone_ = true;
    then = std::exchange(then_, nullptr);
  }
  if (then) {
    then();
  }
}

Answer::Answer(Parts parts, AnswerFacts facts)
    : parts_(std::move(parts)), json_(*parts_.tokenizer, std::move(facts)) {
  const AnswerFacts& known = json_.facts();
  const size_t n = known.prompts.size() * static_cast<size_t>(known.n_choices);
  news_.resize(n);
  choices_.resize(n);
  last_token_.resize(n);
}

std::shared_ptr<engine::TextSink> Answer::make_sink(size_t choice, ChoiceOptions options) {
  return std::make_shared<ChoiceSink>(*parts_.tokenizer, std::move(options),
                                      [self = shared_from_this(), choice](ChoiceNews news) {
                                        self->take(choice, std::move(news));
                                      });
}

void Answer::watch_client() {
  parts_.client->when_gone([weak = weak_from_this()] {
    if (const auto self = weak.lock(); self != nullptr && self->take_turn()) {
      self->refuse(Cause::kClientGone);
    }
  });
}

void Answer::begin_waiting() {
  if (json_.facts().is_stream) {
    parts_.writer->post([self = shared_from_this()] { self->begin_stream(); });
  }
}

bool Answer::take_turn() {
  const std::lock_guard guard(lock_);
  return !std::exchange(had_turn_, true);
}

void Answer::refuse(Cause cause, std::string message) {
  if (cause == Cause::kInternal) {
    log_line(LogLevel::kError, fmt::format("request {}: {}", parts_.record.id, message));
  }
  parts_.writer->post([self = shared_from_this(), cause, message = std::move(message)] {
    self->fail(cause, message);
    self->record_end();
  });
}

void Answer::begin(std::function<void()> cancel) {
  {
    const std::lock_guard guard(lock_);
    cancel_ = cancel;
  }
  parts_.client->when_gone(std::move(cancel));
  begin_waiting();
}

// The first event may come before begin() has been heard of.
void Answer::begin_stream() {
  if (json_.facts().is_stream && !has_failed_ && !std::exchange(has_begun_, true)) {
    http::Response head;
    head.content_type = "text/event-stream";
    head.headers = parts_.headers;
    parts_.client->responder().begin_stream(std::move(head));
  }
}

void Answer::cancel_rest() {
  std::function<void()> cancel;
  {
    const std::lock_guard guard(lock_);
    cancel = cancel_;
  }
  if (cancel) {
    cancel();
  }
}

void Answer::take(size_t choice, ChoiceNews news) {
  {
    const std::lock_guard guard(lock_);
    news_[choice].add(std::move(news));
    if (std::exchange(is_posted_, true)) {
      return;
    }
  }
  parts_.writer->post([self = shared_from_this()] { self->write(); });
}

void Answer::write() {
  bool is_whole = false;
  try {
    is_whole = write_news();
  } catch (const std::exception& error) {  // something of ours: this answer ends, no other
    fail(Cause::kInternal, error.what());
    is_whole = n_ended_ == choices_.size();
  }
  if (is_whole) {
    record_end();
  }
}

bool Answer::write_news() {
  std::vector<ChoiceNews> all(choices_.size());
  {
    const std::lock_guard guard(lock_);
    std::swap(all, news_);
    is_posted_ = false;
  }
  const bool is_gone = parts_.client->is_gone();
  std::string out;
  for (size_t choice = 0; choice < all.size(); ++choice) {
    write_choice(choice, std::move(all[choice]), out);
  }
  const bool is_whole = n_ended_ == choices_.size();
  if (!is_gone && !has_failed_) {
    if (is_whole) {
      finish(out);
    } else if (!out.empty()) {
      begin_stream();
      parts_.client->responder().send(std::move(out));
    }
  }
  if (is_whole && is_gone && !has_failed_) {
    parts_.record.status = row_of(Cause::kClientGone).status;
    parts_.record.finish_reason = row_of(Cause::kClientGone).finish_reason;
  }
  return is_whole;
}

void Answer::write_choice(size_t choice, ChoiceNews news, std::string& out) {
  const AnswerFacts& facts = json_.facts();
  count_times(choice, news.times);
  if (news.end) {
    ++n_ended_;
    const engine::Usage& usage = news.end->usage;
    usage_.generated_tokens += usage.generated_tokens;
    if (choice % static_cast<size_t>(facts.n_choices) == 0) {
      usage_.prompt_tokens += usage.prompt_tokens;
      usage_.cached_tokens += usage.cached_tokens;
      parts_.record.queue_s = std::max(parts_.record.queue_s, usage.queue_s);
    }
    const engine::FinishReason reason = news.end->reason;
    if (reason != engine::FinishReason::kStop && reason != engine::FinishReason::kLength) {
      fail(cause_of(reason), news.end->message);
      return;
    }
    if (parts_.record.finish_reason.empty()) {
      parts_.record.finish_reason = engine::name_of(reason);
    }
  }
  if (has_failed_) {
    return;
  }
  if (facts.is_stream) {
    json_.append_events(choice, news, out);
  } else {
    choices_[choice].add(std::move(news));
  }
}

void Answer::finish(std::string& out) {
  const AnswerFacts& facts = json_.facts();
  parts_.record.status = 200;
  if (facts.is_stream) {
    if (facts.include_usage) {
      json_.append_usage_event(usage_, out);
    }
    out += "data: [DONE]\n\n";
    begin_stream();
    parts_.client->responder().send(std::move(out));
    parts_.client->responder().end_stream();
    return;
  }
  http::Response response;
  response.headers = parts_.headers;
  response.body = json_.whole(choices_, usage_);
  parts_.client->responder().reply(std::move(response));
}

// The first choice that the engine gave up ends them all.
void Answer::fail(Cause why, const std::string& given) {
  if (std::exchange(has_failed_, true)) {
    return;
  }
  const bool is_gone = parts_.client->is_gone();
  const Cause cause = is_gone ? Cause::kClientGone : why;
  parts_.record.status = row_of(cause).status;
  parts_.record.finish_reason = row_of(cause).finish_reason;
  const std::string message = given.empty() ? std::string(row_of(cause).says) : given;
  if (!is_gone && has_begun_) {
    parts_.client->responder().send("data: " + error_body(cause, message) + "\n\n");
    parts_.client->responder().end_stream();
  } else if (!is_gone) {
    parts_.client->responder().reply(error_response(cause, message));
  }
  cancel_rest();
}

void Answer::count_times(size_t choice, const std::vector<engine::Clock::time_point>& times) {
  http::RequestRecord& record = parts_.record;
  for (const engine::Clock::time_point time : times) {
    if (last_token_[choice] != engine::Clock::time_point()) {
      const double gap = seconds_between(last_token_[choice], time);
      record.inter_tokens_s.push_back(static_cast<float>(gap));
      inter_token_sum_s_ += gap;
    }
    last_token_[choice] = time;
    const double since = seconds_between(parts_.arrived, time);
    record.first_token_s = record.first_token_s < 0 ? since : std::min(record.first_token_s, since);
  }
}

void Answer::record_end() {
  http::RequestRecord& record = parts_.record;
  record.prompt_tokens = usage_.prompt_tokens;
  record.cached_tokens = usage_.cached_tokens;
  record.generated_tokens = usage_.generated_tokens;
  record.total_s = seconds_between(parts_.arrived, engine::Clock::now());
  if (!record.inter_tokens_s.empty()) {
    record.inter_token_s = inter_token_sum_s_ / static_cast<double>(record.inter_tokens_s.size());
  }
  if (parts_.records != nullptr) {
    parts_.records->record(record);
  }
}

}  // namespace fathom::api::openai

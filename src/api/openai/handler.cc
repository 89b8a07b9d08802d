// Routes to functions. Those that need no text are answered on the transport's thread.
// Called by api/http. Read next: api/openai/answering.cc.
#include "api/openai/handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/openai/answering.h"
#include "api/openai/body.h"
#include "api/openai/errors.h"
#include "api/openai/token_names.h"
#include "api/openai/worker.h"
#include "base/check.h"
#include "base/error.h"
#include "base/log.h"

namespace fathom::api::openai {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kModels = "/v1/models";
constexpr std::string_view kOneModel = "/v1/models/{id}";

constexpr auto kRoutes = std::to_array<http::Route>({
    {"POST", "/v1/chat/completions"},
    {"POST", "/v1/completions"},
    {"GET", kModels},
    {"GET", kOneModel},
    {"POST", "/tokenize"},
    {"POST", "/detokenize"},
    {"POST", "/apply-template"},
    {"POST", "/v1/responses"},
    {"POST", "/v1/messages"},
    {"POST", "/v1/embeddings"},
});

// Routes of the list above that are refused by their name.
constexpr auto kNotOffered =
    std::to_array<std::string_view>({"/v1/responses", "/v1/messages", "/v1/embeddings"});

constexpr auto kBodies =
    std::to_array<Route>({kChat, kCompletions, kTokenize, kDetokenize, kTemplate});

http::Response json_response(const Json& body) {
  http::Response response;
  response.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

Json model_json(const HandlerOptions& options, const std::string& name) {
  return {{"id", name},
          {"object", "model"},
          {"created", options.created},
          {"owned_by", "fathom"},
          {"max_model_len", options.context}};
}

http::Response list_models(const HandlerOptions& options) {
  Json data = Json::array();
  for (const std::string& name : options.model_names) {
    data.push_back(model_json(options, name));
  }
  return json_response({{"object", "list"}, {"data", std::move(data)}});
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// "org%2Fname" is "org/name"; what is no escape stays.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
        hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

http::Response show_model(const HandlerOptions& options, std::string_view path) {
  const std::string name = percent_decoded(path.substr(kModels.size() + 1));
  check_model(options, name);
  return json_response(model_json(options, name.empty() ? options.model_names.front() : name));
}

http::Response tokenize(const HandlerOptions& options, const PromptMaker& prompts,
                        std::string_view text) {
  const Body body = Body::parse(text, kTokenize);
  check_model(options, body.text("model", ""));
  const codec::Tokenizer& tokenizer = prompts.tokenizer();
  const int n_given = static_cast<int>(body.has("messages")) +
                      static_cast<int>(body.has("prompt")) + static_cast<int>(body.has("content"));
  if (n_given != 1) {
    throw RequestError(
        Cause::kBadRequest,
        fmt::format("found {} of prompt, content and messages, expected one", n_given), "prompt");
  }
  std::vector<int32_t> ids;
  if (body.has("messages")) {
    ids = codec::encode_rendered(tokenizer, prompts.render(read_conversation(text, body))).ids;
  } else {
    const bool add_special = body.flag("add_special", body.flag("add_special_tokens", true));
    ids = tokenizer.encode(
        body.text("prompt", body.text("content", "")),
        {.add_special = add_special, .parse_special = body.flag("parse_special", true)});
  }
  Json answer = {{"tokens", ids}, {"count", ids.size()}, {"max_model_len", options.context}};
  if (body.flag("return_token_strs", false)) {
    Json names = Json::array();
    for (const int32_t id : ids) {
      names.push_back(token_name(tokenizer, id, token_bytes(tokenizer, id, false)));
    }
    answer["token_strs"] = std::move(names);
  }
  return json_response(answer);
}

http::Response detokenize(const HandlerOptions& options, const PromptMaker& prompts,
                          std::string_view text) {
  const Body body = Body::parse(text, kDetokenize);
  check_model(options, body.text("model", ""));
  if (!body.has("tokens")) {
    throw RequestError(Cause::kBadRequest, "tokens is missing: a list of token ids", "tokens");
  }
  const std::vector<int32_t> ids = body.ids("tokens");
  prompts.check_ids(ids, "tokens");
  const std::string decoded =
      prompts.tokenizer().decode(ids, !body.flag("skip_special_tokens", false));
  return json_response({{"prompt", decoded}, {"content", decoded}});
}

http::Response apply_template(const HandlerOptions& options, const PromptMaker& prompts,
                              std::string_view text) {
  const Body body = Body::parse(text, kTemplate);
  check_model(options, body.text("model", ""));
  return json_response({{"prompt", prompts.render(read_conversation(text, body)).text}});
}

}  // namespace

struct OpenAiHandler::State {
  State(EngineThread& used, const codec::Tokenizer& tokenizer,
        std::optional<codec::ChatTemplate> chat, HandlerOptions given, http::RecordSink* to)
      : engine(used), prompts(tokenizer, std::move(chat)), options(std::move(given)), records(to) {}

  EngineThread& engine;
  PromptMaker prompts;
  HandlerOptions options;
  http::RecordSink* records;
  Worker writer;
  Worker reader;  // ends before the writer, which it gives work

  void record(const http::Request& request, std::string_view route, int status,
              engine::Clock::time_point arrived, std::string_view finish_reason = "") const;
  void refuse(const http::Request& request, std::string_view route, const Client& client,
              const std::exception& error, engine::Clock::time_point arrived) const;
  void read(Route route, const http::Request& request, const std::shared_ptr<Client>& client,
            engine::Clock::time_point arrived);
  [[nodiscard]] http::Response small_answer(Route route, const http::Request& request) const;
};

void OpenAiHandler::State::record(const http::Request& request, std::string_view route, int status,
                                  engine::Clock::time_point arrived,
                                  std::string_view finish_reason) const {
  if (records == nullptr) {
    return;
  }
  http::RequestRecord entry;
  entry.id = request.id;
  entry.key = request.key;
  entry.route = route;
  entry.status = status;
  entry.finish_reason = finish_reason;
  entry.total_s = std::chrono::duration<double>(engine::Clock::now() - arrived).count();
  records->record(entry);
}

void OpenAiHandler::State::refuse(const http::Request& request, std::string_view route,
                                  const Client& client, const std::exception& error,
                                  engine::Clock::time_point arrived) const {
  Cause cause = Cause::kInternal;
  std::string param;
  if (const auto* ours = dynamic_cast<const Error*>(&error)) {
    cause = cause_of(*ours);
    const auto* refused = dynamic_cast<const RequestError*>(ours);
    param = refused == nullptr ? "" : refused->param();
  }
  if (cause == Cause::kInternal) {
    log_line(LogLevel::kError, fmt::format("request {}: {}", request.id, error.what()));
  }
  client.responder().reply(error_response(cause, error.what(), param));
  record(request, route, row_of(cause).status, arrived);
}

http::Response OpenAiHandler::State::small_answer(Route route, const http::Request& request) const {
  switch (route) {
    case kTokenize:
      return tokenize(options, prompts, request.body);
    case kDetokenize:
      return detokenize(options, prompts, request.body);
    default:
      return apply_template(options, prompts, request.body);
  }
}

void OpenAiHandler::State::read(Route route, const http::Request& request,
                                const std::shared_ptr<Client>& client,
                                engine::Clock::time_point arrived) {
  if (client->is_gone()) {
    const CauseRow& row = row_of(Cause::kClientGone);
    record(request, path_of(route), row.status, arrived, row.finish_reason);
    return;
  }
  try {
    if (route == kChat || route == kCompletions) {
      start_answer({&engine, &prompts, &writer, records, &options}, route, request, client,
                   arrived);
    } else {
      client->responder().reply(small_answer(route, request));
      record(request, path_of(route), 200, arrived);
    }
  } catch (const std::exception& error) {
    refuse(request, path_of(route), *client, error, arrived);
  }
}

OpenAiHandler::OpenAiHandler(EngineThread& engine, const codec::Tokenizer& tokenizer,
                             std::optional<codec::ChatTemplate> chat, HandlerOptions options,
                             http::RecordSink* records)
    : state_(std::make_unique<State>(engine, tokenizer, std::move(chat), std::move(options),
                                     records)) {
  FATHOM_CHECK(!state_->options.model_names.empty());
}

OpenAiHandler::~OpenAiHandler() {
  state_->reader.stop();
  state_->engine.stop();  // its sinks speak to the writer
  state_->writer.stop();
}

std::span<const http::Route> OpenAiHandler::routes() const {
  return kRoutes;
}

// Nothing that a body says makes room in a full queue.
std::optional<http::Response> OpenAiHandler::refuse_early(const http::Request& head) {
  const bool wants_answer = head.path == path_of(kChat) || head.path == path_of(kCompletions);
  const EngineThread& engine = state_->engine;
  if (!wants_answer || engine.n_open() < engine.max_open() || engine.pulse().has_failed) {
    return std::nullopt;
  }
  return error_response(Cause::kQueueFull, queue_full_message(engine));
}

void OpenAiHandler::handle(http::Request request, std::shared_ptr<http::Responder> responder) {
  const auto arrived = engine::Clock::now();
  const std::shared_ptr<Client> client = Client::watch(std::move(responder));
  try {
    if (request.path == kModels) {
      client->responder().reply(list_models(state_->options));
      state_->record(request, kModels, 200, arrived);
      return;
    }
    if (request.method == "GET") {
      client->responder().reply(show_model(state_->options, request.path));
      state_->record(request, kOneModel, 200, arrived);
      return;
    }
    const auto refused = std::ranges::find(kNotOffered, request.path);
    if (refused != kNotOffered.end()) {
      throw RequestError(Cause::kNotOffered,
                         fmt::format("{} is not offered yet; use /v1/chat/completions or "
                                     "/v1/completions",
                                     *refused));
    }
  } catch (const std::exception& error) {
    const auto route = std::ranges::find(kNotOffered, request.path);
    state_->refuse(request, route == kNotOffered.end() ? kOneModel : *route, *client, error,
                   arrived);
    return;
  }
  const auto route = std::ranges::find(kBodies, request.path, path_of);
  FATHOM_CHECK(route != kBodies.end());
  auto read = [state = state_.get(), route = *route, request = std::move(request), client,
               arrived] { state->read(route, request, client, arrived); };
  if (*route == kChat || *route == kCompletions) {  // these wait when they have been read
    state_->reader.post(std::move(read));
    return;
  }
  client->responder().when_turn({.start = [state = state_.get(), read = std::move(read)]() mutable {
    state->reader.post(std::move(read));
  }});
}

}  // namespace fathom::api::openai

// In the order in which each part needs the one before; stop() goes the other way.
// Read next: api/engine_thread.h.
#include "serve_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/engine_thread.h"
#include "api/model_sampling.h"
#include "api/openai/handler.h"
#include "api/session.h"
#include "base/error.h"
#include "base/log.h"
#include "command.h"

namespace fathom::app {

namespace {

// What lives while the model is served. The handler uses the others.
struct Served {
  std::unique_ptr<api::Session> session;
  std::unique_ptr<api::EngineThread> engine;
  std::shared_ptr<api::http::RecordSink> records;
};

// The file's or folder's name, without where it lies.
std::string default_name(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).lexically_normal();
  if (!name.has_filename()) {
    name = name.parent_path();
  }
  return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

std::vector<std::string> model_names(const ServeFlags& flags) {
  std::vector<std::string> names = split_list(flags.served_names);
  return names.empty() ? std::vector<std::string>{default_name(flags.model.path)} : names;
}

// Seconds since 1970 of the last change of the file.
int64_t created_at(const std::string& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) {
    return 0;
  }
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::file_clock::to_sys(time).time_since_epoch())
      .count();
}

// A model without a template serves completions only.
std::optional<codec::ChatTemplate> chat_template(const ServeFlags& flags,
                                                 const codec::Tokenizer& tokenizer) {
  try {
    return load_chat_template(flags.chat, tokenizer.vocabulary());
  } catch (const Error& error) {
    if (!flags.chat.chat_template.empty()) {
      throw;
    }
    warn(fmt::format("no chats, completions only: {}", error.what()));
    return std::nullopt;
  }
}

api::openai::HandlerOptions handler_options(const ServeFlags& flags, const api::Session& session) {
  api::openai::HandlerOptions options;
  options.model_names = model_names(flags);
  options.created = created_at(flags.model.path);
  options.fingerprint = fmt::format("fathom-{}", commit());
  options.end_tokens = session.end_tokens();
  options.context = session.context();
  options.defaults.sampling = api::read_model_sampling(session.file().metadata);
  options.defaults.deadline_s = flags.deadline_s;
  options.defaults.queue_timeout_s = flags.queue_timeout_s;
  return options;
}

api::StepBeat beat_of(const api::EngineThread& engine) {
  const api::Pulse pulse = engine.pulse();
  if (!pulse.is_stepping) {
    return {};
  }
  const auto since = std::chrono::steady_clock::now() - pulse.since;
  return {.seconds = std::chrono::duration<double>(since).count(), .phase = "step"};
}

}  // namespace

api::ServedModel open_served_model(const ServeFlags& flags,
                                   const std::shared_ptr<api::http::RecordSink>& records) {
  api::SessionOptions options = session_options(flags.model);
  require_arithmetic(options);
  options.max_sequences = flags.max_sequences;
  options.max_batched_tokens = flags.max_batched_tokens;
  options.prefix_cache = !flags.no_prefix_cache;
  options.priority_aging = flags.priority_aging;
  options.check_pages = flags.check_pages;
  set_memory_options(flags.memory, kDefaultUtilization, options);
  auto served = std::make_shared<Served>();
  served->records = records;
  served->session = api::Session::open(options);
  const codec::Tokenizer* tokenizer = served->session->tokenizer();
  if (tokenizer == nullptr) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: has no vocabulary that can be used, so it cannot be served",
                     flags.model.path));
  }
  std::optional<codec::ChatTemplate> chat = chat_template(flags, *tokenizer);
  served->engine = std::make_unique<api::EngineThread>(served->session->engine(), flags.max_queued);
  api::ServedModel model;
  model.handler = std::make_shared<api::openai::OpenAiHandler>(
      *served->engine, *tokenizer, std::move(chat), handler_options(flags, *served->session),
      records.get());
  model.stats = [served] { return served->engine->stats(); };
  model.beat = [served] {
    api::StepBeat beat = beat_of(*served->engine);
    if (beat.seconds > 0) {
      beat.phase = engine::name_of(served->session->engine().phase());
    }
    return beat;
  };
  model.stop = [served] {
    served->engine.reset();
    served->session.reset();
  };
  return model;
}

}  // namespace fathom::app

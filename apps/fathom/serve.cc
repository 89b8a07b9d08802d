// fathom serve: an OpenAI-compatible server, until a signal ends it.
// Read next: api/server.h, serve_model.cc.
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>

#include "api/openai/reference.h"
#include "base/log.h"
#include "command.h"
#include "serve_flags.h"
#include "serve_model.h"
#include "signals.h"
#include "terminal.h"

namespace fathom::app {

namespace {

constexpr const char* kFooter = R"(Examples:
  fathom serve -m model.gguf
  fathom serve -m model.gguf --host 0.0.0.0 --api-key-file keys --max-sequences 32 -c 8192
  fathom serve --config fathom.toml               with lines such as  max-sequences = 32
  FATHOM_MODEL=model.gguf FATHOM_PORT=9000 fathom serve

Routes and fields: docs/serving.md. SIGTERM or Ctrl-C ends the server when the requests under way are
done, a second one at once; SIGHUP reads API keys and certificates again.)";

constexpr int kTickMilliseconds = 200;

// One signal of the service manager or of a person at the terminal.
void take_signal(int signal, api::Server& server, api::Server::State state) {
  if (signal == SIGHUP) {
    server.reload();
  } else if (signal != 0 && state == api::Server::State::kServing) {
    server.drain();
  } else if (signal != 0) {  // while loading, which cannot be interrupted; or the second one
    note("ends at once");
    std::_Exit(state == api::Server::State::kLoading ? kExitDone : kExitInterrupted);
  }
}

int serve(ServeFlags flags) {
  using State = api::Server::State;
  set_log_format(flags.log_format == "json" ? LogFormat::kJson : LogFormat::kTimed);
  if (flags.server.transport.certificate_path.empty() != flags.server.transport.key_path.empty()) {
    throw UsageError("--tls-cert and --tls-key go together; give both");
  }
  flags.server.version = version();
  flags.server.cors_origins = split_list(flags.cors_origins);
  flags.server.transport.max_waiting = flags.max_queued;
  const char* keys = std::getenv("FATHOM_API_KEYS");
  flags.server.keys = keys != nullptr ? keys : "";
  hold_signals();
  api::Server server(flags.server);
  for (const std::string& address : server.addresses()) {
    note(fmt::format("listening on {}; loading the model", address));
  }
  server.load([&flags, records = server.records()] { return open_served_model(flags, records); });
  State state = State::kLoading;
  while (state != State::kStopped && state != State::kFailed) {
    take_signal(next_signal(kTickMilliseconds), server, state);
    state = server.tick();
  }
  if (state == State::kFailed) {
    std::rethrow_exception(server.failure());
  }
  note("stopped");
  return kExitDone;
}

}  // namespace

namespace {

// fathom serve reference: the tables of docs/serving.md, of this very build.
void add_reference(CommandLine& serve, Command& command) {
  auto* sub = serve.add_subcommand("reference", "Print the tables of docs/serving.md");
  sub->waives("--model");
  sub->callback([&command] {
    command = [] {
      AnswerWriter().write(api::openai::reference_tables());
      return kExitDone;
    };
  });
}

}  // namespace

void add_serve(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("serve", "Answer requests of OpenAI clients");
  sub->footer(kFooter);
  auto flags = std::make_shared<ServeFlags>();
  add_serve_flags(*sub, *flags);
  sub->take_settings();
  add_reference(*sub, command);
  sub->callback([flags, &command] {
    if (!command) {  // no subcommand of its own was given
      command = [flags] { return serve(*flags); };
    }
  });
}

}  // namespace fathom::app

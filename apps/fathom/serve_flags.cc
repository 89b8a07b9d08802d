// Option tables by subject. Read next: serve.cc.
#include "serve_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/http/origin.h"

namespace fathom::app {

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 40;
constexpr int64_t kMostCount = 1'000'000;
constexpr double kMostSeconds = 30.0 * 24 * 3600;

struct CountFlag {
  const char* name;
  int64_t* value;
  int64_t lowest;
  int64_t highest;
  const char* help;
};

void add_counts(CommandLine& app, const std::vector<CountFlag>& table) {
  for (const CountFlag& flag : table) {
    app.add_option(flag.name, *flag.value, flag.help)
        ->check(in_range(flag.lowest, flag.highest))
        ->capture_default_str()
        ->type_name("N");
  }
}

struct SecondsFlag {
  const char* name;
  double* value;
  double lowest;
  const char* help;
};

void add_seconds(CommandLine& app, const std::vector<SecondsFlag>& table) {
  for (const SecondsFlag& flag : table) {
    app.add_option(flag.name, *flag.value, flag.help)
        ->check(in_real_range(flag.lowest, kMostSeconds))
        ->capture_default_str()
        ->type_name("S");
  }
}

std::string require_host(const std::string& host) {
  return host.empty() ? "the host is empty; expected an address or a name" : "";
}

// Names that requests can give, none of them cut off from what the field "model" takes.
std::string check_names(const std::string& text) {
  constexpr size_t kMostNameBytes = 256;
  const std::vector<std::string> names = split_list(text);
  if (names.empty()) {
    return "found no name; expected some, with commas between";
  }
  for (const std::string& name : names) {
    if (name.size() > kMostNameBytes) {
      return fmt::format("'{}' has {} bytes, a request can give {} at most", name, name.size(),
                         kMostNameBytes);
    }
  }
  return {};
}

std::string check_origins(const std::string& text) {
  const std::vector<std::string> origins = split_list(text);
  if (origins.empty()) {
    return "found no origin; expected * or SCHEME://HOST[:PORT], with commas between";
  }
  for (const std::string& origin : origins) {
    if (std::string fault = api::http::origin_fault(origin); !fault.empty()) {
      return fault;
    }
  }
  return {};
}

void add_engine_flags(CommandLine& app, ServeFlags& flags) {
  add_counts(
      app, {
               {"--max-sequences", &flags.max_sequences, 1, 4096,
                "Sequences that run at once; others wait"},
               {"--max-batched-tokens", &flags.max_batched_tokens, 1, 65536,
                "Rows of one step; longer prompts are computed in pieces"},
               {"--max-queued", &flags.max_queued, 1, kMostCount,
                "Answers that run or wait at once, and requests that wait for others of their API "
                "key; beyond either 429"},
               {"--priority-aging", &flags.priority_aging, 1, kMostCount,
                "Steps of waiting that are worth one level of priority"},
           });
  app.add_flag("--no-prefix-cache", flags.no_prefix_cache,
               "Compute every prompt from its begin, also one that begins like another");
  add_memory_flags(app, flags.memory);
  add_check_pages(app, flags.check_pages);
}

void add_listen_flags(CommandLine& app, ServeFlags& flags) {
  api::http::TransportOptions& transport = flags.server.transport;
  app.add_option("--host", transport.host, "Address or name to listen on; 0.0.0.0: all")
      ->check(require_host)
      ->capture_default_str()
      ->type_name("HOST");
  app.add_option("--port", transport.port, "Port to listen on; 0: any free one")
      ->check(in_range(0, 65535))
      ->capture_default_str()
      ->type_name("N");
  Option* certificate = app.add_option("--tls-cert", transport.certificate_path,
                                       "Serve HTTPS with this chain of certificates (PEM)")
                            ->check(require_name)
                            ->type_name("FILE");
  app.add_option("--tls-key", transport.key_path, "The private key of --tls-cert (PEM)")
      ->check(require_name)
      ->type_name("FILE")
      ->needs(certificate);
  app.add_option("--cors-origins", flags.cors_origins,
                 "Origins whose pages may use the server, with commas between; *: all")
      ->check(check_origins)
      ->type_name("LIST");
}

void add_access_flags(CommandLine& app, ServeFlags& flags) {
  api::http::TransportOptions& transport = flags.server.transport;
  app.add_option("--api-key-file", flags.server.key_file,
                 "API keys, one a line: KEY or NAME KEY; or FATHOM_API_KEYS, with commas between")
      ->check(require_name)
      ->type_name("FILE");
  app.add_flag("--no-auth", flags.server.no_auth, "Serve other machines without any API key");
  add_counts(app, {
                      {"--max-running-per-key", &transport.max_running_per_key, 0, kMostCount,
                       "Requests of one API key that run at once; others of it wait; 0: no limit"},
                      {"--max-queued-per-key", &transport.max_queued_per_key, 0, kMostCount,
                       "Requests of one API key that wait for those; beyond them 429; 0: no limit"},
                  });
}

void add_limit_flags(CommandLine& app, ServeFlags& flags) {
  api::http::TransportOptions& transport = flags.server.transport;
  add_counts(app, {
                      {"--max-connections", &transport.max_connections, 1, kMostCount,
                       "Open connections at once"},
                      {"--max-head-bytes", &transport.max_head_bytes, 256, 1 << 16,
                       "A request's line and headers; beyond them 431"},
                      {"--max-body-bytes", &transport.max_body_bytes, 1, kMostBytes,
                       "A request's body; beyond it 413"},
                      {"--max-buffer-bytes", &transport.max_buffer_bytes, 1024, kMostBytes,
                       "Of a stream that its client does not read; then the request ends"},
                  });
  add_seconds(
      app, {
               {"--idle-seconds", &transport.idle_s, 0.01, "Between two requests of a connection"},
               {"--read-seconds", &transport.read_s, 0.01,
                "From a request's first byte to its last; then 408"},
               {"--write-seconds", &transport.write_s, 0.01,
                "Until a client takes more of its answer; then the request ends"},
               {"--comment-seconds", &transport.comment_s, 0.01,
                "Of silence in a stream, until a comment line is written into it"},
               {"--deadline-seconds", &flags.deadline_s, 0,
                "For a whole answer, where its request says nothing else; 0: no limit"},
               {"--queue-timeout-seconds", &flags.queue_timeout_s, 0,
                "For waiting until it runs, where a request says nothing else; 0: no limit"},
               {"--drain-seconds", &flags.server.drain_s, 0,
                "For requests under way after SIGTERM; then they end with an error"},
               {"--watchdog-seconds", &flags.server.watchdog_s, 0,
                "One step of the engine; beyond it /ready answers 503; 0: no limit"},
           });
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const size_t first = text.find_first_not_of(' ', begin);
    if (first < end) {
      parts.push_back(text.substr(first, text.find_last_not_of(' ', end - 1) + 1 - first));
    }
    begin = end + 1;
  }
  return parts;
}

void add_serve_flags(CommandLine& app, ServeFlags& flags) {
  add_model_flags(app, flags.model);
  add_cache_flags(app, flags.model);
  add_attention_flag(app, flags.model);
  add_chat_template_flag(app, flags.chat);
  app.add_option("--served-model-name", flags.served_names,
                 "Names that requests may give, with commas between (default: the file's)")
      ->check(check_names)
      ->type_name("LIST");
  add_engine_flags(app, flags);
  add_listen_flags(app, flags);
  add_access_flags(app, flags);
  add_limit_flags(app, flags);
  app.add_option("--log-format", flags.log_format, "text or json")
      ->check(is_one_of({"text", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
}

}  // namespace fathom::app

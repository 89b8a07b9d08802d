// Everything that `fathom serve` was told.
// Called by apps/fathom/serve.cc. Read next: serve_flags.cc, api/server.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/server.h"
#include "chat_flags.h"
#include "memory_flags.h"
#include "options.h"

namespace fathom::app {

struct ServeFlags {
  ModelFlags model;
  ChatFlags chat;
  api::ServerOptions server;
  std::string cors_origins;  // with commas between
  std::string served_names;  // with commas between; empty: the model's file name
  std::string log_format = "text";
  int64_t max_sequences = 16;
  int64_t max_batched_tokens = kServeBatchedTokens;
  int64_t max_queued = 256;
  int64_t priority_aging = 256;
  double deadline_s = 0;       // 0: none
  double queue_timeout_s = 0;  // 0: none
  bool no_prefix_cache = false;
  MemoryFlags memory;
  bool check_pages = false;
};

void add_serve_flags(CommandLine& app, ServeFlags& flags);

// Texts between commas, without the blanks around them; none of them empty.
std::vector<std::string> split_list(const std::string& text);

}  // namespace fathom::app

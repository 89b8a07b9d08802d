// Options about the memory of the KV cache where several requests share it.
// Called by apps/fathom/plan.cc, serve. Read next: memory_flags.cc, xray/page_budget.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/session.h"
#include "command_line.h"

namespace fathom::app {

// Of fathom serve, where its flags say nothing else.
inline constexpr double kDefaultUtilization = 0.85;

// A prompt's piece holds up everybody's next token: with 128, 16 clients of SmolLM2 saw a 99th
// percentile of 97 ms between tokens, with 512 it was 327 ms at 7 % fewer tokens a second
// (bench/RESULTS.md).
inline constexpr int64_t kServeBatchedTokens = 128;

struct MemoryFlags {
  std::optional<int64_t> kv_bytes;
  std::optional<double> utilization;
};

// --kv-memory --memory-utilization
void add_memory_flags(CommandLine& app, MemoryFlags& flags);

// --check-pages
void add_check_pages(CommandLine& app, bool& check_pages);

// "512M", "2G", "1.5GiB", "1000000": bytes; K, M, G and T are powers of 1024. Error: UsageError.
int64_t parse_size(const std::string& text, const std::string& option);

// `fallback`: the utilization where neither option was given; nullopt: the whole context for each
// sequence.
void set_memory_options(const MemoryFlags& flags, std::optional<double> fallback,
                        api::SessionOptions& options);

}  // namespace fathom::app

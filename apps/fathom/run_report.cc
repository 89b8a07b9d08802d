// JSON by nlohmann, lines by fmt.
#include "run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "xray/process_memory.h"

namespace fathom::app {

namespace {

using nlohmann::ordered_json;

double rate(int64_t n_tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(n_tokens) / seconds : 0.0;
}

double prefill_rate(const engine::Usage& usage) {
  return rate(usage.prompt_tokens - usage.cached_tokens, usage.prefill_s);
}

double decode_rate(const engine::Usage& usage) {
  return rate(usage.generated_tokens - 1, usage.decode_s);
}

// The text of one token, for people and JSON: half characters become U+FFFD when dumped.
std::string piece_of(const api::Session& session, int32_t id) {
  return session.tokenizer() == nullptr ? std::string() : session.tokenizer()->bytes_of(id, true);
}

ordered_json logprobs_of(const api::Session& session, const api::GenerateResult& result) {
  if (result.logprobs.empty()) {
    return nullptr;
  }
  ordered_json list = ordered_json::array();
  for (const api::TokenResult& token : result.logprobs) {
    ordered_json best = ordered_json::array();
    for (const sample::TokenLogprob& entry : token.best) {
      best.push_back(
          {{"id", entry.id}, {"text", piece_of(session, entry.id)}, {"logprob", entry.logprob}});
    }
    list.push_back({{"id", token.id},
                    {"text", piece_of(session, token.id)},
                    {"logprob", token.logprob},
                    {"best", std::move(best)}});
  }
  return list;
}

ordered_json plan_object(const xray::MemoryPlan& plan, bool with_lines) {
  ordered_json object;
  for (const xray::PlanLine& line : plan.lines) {
    object[line.pool] = line.bytes;
  }
  object["total_bytes"] = plan.total_bytes();
  object["context"] = plan.context;
  if (with_lines) {
    object["lines"] = ordered_json::array();
    for (const xray::PlanLine& line : plan.lines) {
      object["lines"].push_back(
          {{"pool", line.pool}, {"formula", line.formula}, {"bytes", line.bytes}});
    }
  }
  return object;
}

std::string dump(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

double time_ratio(const CacheComparison& comparison) {
  return comparison.seconds_with > 0 ? comparison.seconds_without / comparison.seconds_with : 0.0;
}

double mib(int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

}  // namespace

std::string plan_json(const xray::MemoryPlan& plan, int64_t sequences,
                      const std::string& arithmetic) {
  ordered_json object = plan_object(plan, true);
  object["sequences"] = sequences;
  object["arithmetic"] = arithmetic;
  return dump(object);
}

bool is_context_full(const api::Session& session, const RunRecord& record) {
  // The last token needs no position: nothing is computed from it.
  const auto used = std::ssize(record.prompt) + std::ssize(record.result.tokens);
  return record.result.reason == engine::FinishReason::kLength && used > session.context();
}

std::string full_context_warning(const api::Session& session) {
  const bool is_bounded = !session.load_plan().config.allows_more_than(session.context());
  return fmt::format("the answer ends here: the context of {} tokens is full; {}",
                     session.context(),
                     is_bounded ? "the model has learned no more positions" : "-c takes more");
}

std::string ids_text(const std::vector<int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

std::string run_json(api::Session& session, const RunRecord& record) {
  const api::GenerateResult& result = record.result;
  ordered_json memory;
  for (const auto& [pool, bytes] : session.pool_peaks()) {
    memory[pool] = bytes;
  }
  ordered_json object = {
      {"prompt_tokens", record.prompt.size()},
      {"prompt_ids", record.prompt},
      {"tokens", result.tokens},
      {"text", result.text},
      {"finish_reason", engine::name_of(result.reason)},
      {"seed", record.seed},
      {"logprobs", logprobs_of(session, result)},
      {"warnings", logged_warnings()},
      {"isa", name_of(session.dispatch().isa)},
      {"threads", session.threads().n_threads()},
      {"thread_claims", session.threads().claim_counts()},
      {"arithmetic", record.arithmetic},
      {"timings",
       {{"load_s", session.figures().load_s},
        {"vocab_s", session.figures().vocab_s},
        {"ttft_s", result.ttft_s},
        {"prefill_tok_s", prefill_rate(result.usage)},
        {"decode_tok_s", decode_rate(result.usage)}}},
      {"memory", std::move(memory)},
      {"plan", plan_object(session.memory_plan(), false)},
      {"pages", {{"used", session.pages().peak_used()}, {"total", session.pages().n_pages()}}},
      {"rss_peak_bytes", xray::process_memory().peak_resident_bytes}};
  if (record.cache) {
    object["no_kv_cache"] = {{"rows_with_cache", record.cache->rows_with},
                             {"rows_without_cache", record.cache->rows_without},
                             {"time_ratio", time_ratio(*record.cache)}};
  }
  return dump(object);
}

std::string summary_line(api::Session& session, const RunRecord& record) {
  const engine::Usage& usage = record.result.usage;
  std::string pools;
  for (const auto& [pool, bytes] : session.pool_peaks()) {
    pools += fmt::format("{}{} {:.1f}", pools.empty() ? "" : ", ", pool, mib(bytes));
  }
  const std::string cached =
      usage.cached_tokens > 0 ? fmt::format(" ({} cached)", usage.cached_tokens) : std::string();
  const std::string decode =
      usage.generated_tokens > 1 ? fmt::format("{:.1f} tok/s", decode_rate(usage)) : "-";
  return fmt::format(
      "{}{} + {} tokens | first token {:.3f} s | prefill {:.1f} tok/s | decode {} | memory {:.1f} "
      "MiB ({}) | pages {} of {}",
      usage.prompt_tokens, cached, usage.generated_tokens, record.result.ttft_s,
      prefill_rate(usage), decode, mib(xray::process_memory().peak_resident_bytes), pools,
      session.pages().peak_used(), session.pages().n_pages());
}

std::string cache_line(const CacheComparison& comparison) {
  return fmt::format(
      "rows computed after the prompt: {} with the KV cache in {:.3f} s, {} without it in {:.3f} s "
      "({:.1f} x the time, the same tokens)",
      comparison.rows_with, comparison.seconds_with, comparison.rows_without,
      comparison.seconds_without, time_ratio(comparison));
}

std::string logprob_table(const api::Session& session, const api::GenerateResult& result) {
  std::string table;
  const auto shown = [&](int32_t id) {
    return ordered_json(piece_of(session, id))
        .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  };
  for (const api::TokenResult& token : result.logprobs) {
    table += fmt::format("{:>7} {:<16} {:8.4f} ", token.id, shown(token.id), token.logprob);
    for (const sample::TokenLogprob& entry : token.best) {
      table += fmt::format(" {}:{} {:.4f}", entry.id, shown(entry.id), entry.logprob);
    }
    table += '\n';
  }
  return table;
}

}  // namespace fathom::app

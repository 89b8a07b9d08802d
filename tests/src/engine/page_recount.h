// Recounts every page after a step from what the sequences and the cache say they hold, and from
// the bytes of the pages; uses neither the pool's counts to find the truth nor its self-check.
// Called by tests/src/engine/simulation_test. Read next: src/engine/toy_model.h.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/engine/toy_model.h"

namespace fathom::engine::test {

class PageRecount {
 public:
  PageRecount(const Engine& engine, const kv::PagePool& pages) : engine_(&engine), pages_(&pages) {}

  // What is wrong between two steps, or nothing.
  std::optional<std::string> check() {
    holders_.assign(static_cast<size_t>(pages_->n_pages()), 0);
    for (const SequenceView& sequence : engine_->sequences()) {
      if (auto wrong = check_sequence(sequence)) {
        return wrong;
      }
    }
    if (auto wrong = check_cache()) {
      return wrong;
    }
    int64_t n_free = 0;
    for (int32_t page = 0; page < pages_->n_pages(); ++page) {
      const int held = holders_[static_cast<size_t>(page)];
      n_free += held == 0 ? 1 : 0;
      if (held != pages_->n_owners(page)) {
        return fmt::format("page {} is held {} times, the pool says {}", page, held,
                           pages_->n_owners(page));
      }
    }
    if (n_free != pages_->n_free()) {
      return fmt::format("{} pages are held by nobody, {} are free", n_free, pages_->n_free());
    }
    return std::nullopt;
  }

  // Positions of `tokens`, the last one left out, whose pages the cache had at the last check().
  [[nodiscard]] int64_t cached_of(const std::string& salt, std::span<const int32_t> tokens) const {
    uint64_t chain = chain_of_salt(salt);
    int64_t matched = 0;
    while (matched + kPageTokens <= std::ssize(tokens) - 1) {
      chain = extend(chain, tokens.subspan(static_cast<size_t>(matched), kPageTokens));
      if (!kept_.contains(chain)) {
        break;
      }
      matched += kPageTokens;
    }
    return matched;
  }

 private:
  static uint64_t chain_of_salt(const std::string& salt) { return std::hash<std::string>()(salt); }

  static uint64_t extend(uint64_t chain, std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) {
      chain = (chain ^ static_cast<uint32_t>(token + 1)) * 0x100000001B3U;
    }
    return chain;
  }

  // Its pages hold its own tokens, hashed from its own beginning, as far as it was computed.
  std::optional<std::string> check_sequence(const SequenceView& sequence) {
    if (!sequence.is_running && !sequence.pages.empty()) {
      return fmt::format("request {} waits and holds pages", sequence.id);
    }
    if (std::ssize(sequence.pages) < kv::pages_for(sequence.num_computed)) {
      return fmt::format("request {} has fewer pages than computed positions", sequence.id);
    }
    for (const int32_t page : sequence.pages) {
      ++holders_.at(static_cast<size_t>(page));
    }
    uint32_t hash = kFirstHash;
    for (int64_t position = 0; position < sequence.num_computed; ++position) {
      const int32_t page = sequence.pages[static_cast<size_t>(position / kPageTokens)];
      const Slot slot = read_slot(*pages_, page, position);
      const int32_t token = sequence.tokens[static_cast<size_t>(position)];
      hash = next_hash(hash, token);
      if (slot.token != token || slot.hash != hash) {
        return fmt::format("request {} holds page {}, which at position {} is not its own",
                           sequence.id, page, position);
      }
    }
    return std::nullopt;
  }

  // Each kept page holds the tokens it is kept for, behind those of the page it follows.
  std::optional<std::string> check_cache() {
    kept_.clear();
    if (engine_->prefix_cache() == nullptr) {
      return std::nullopt;
    }
    std::optional<std::string> wrong;
    std::unordered_map<int32_t, std::pair<uint64_t, uint32_t>> ends;  // chain and hash at the end
    engine_->prefix_cache()->visit([&](const kv::PrefixCache::Kept& kept) {
      ++holders_.at(static_cast<size_t>(kept.page));
      auto [chain, hash] = kept.parent < 0 ? std::pair(chain_of_salt(kept.scope->salt), kFirstHash)
                                           : ends.at(kept.parent);
      for (size_t i = 0; i < kept.tokens.size() && !wrong; ++i) {
        const Slot slot = read_slot(*pages_, kept.page, static_cast<int64_t>(i));
        hash = next_hash(hash, kept.tokens[i]);
        if (slot.token != kept.tokens[i] || slot.hash != hash) {
          wrong = fmt::format("page {} of the cache does not hold what it is kept for", kept.page);
        }
      }
      chain = extend(chain, kept.tokens);
      ends[kept.page] = {chain, hash};
      kept_.insert(chain);
    });
    return wrong;
  }

  const Engine* engine_;
  const kv::PagePool* pages_;
  std::vector<int> holders_;
  std::unordered_set<uint64_t> kept_;  // by the tokens from their beginning
};

}  // namespace fathom::engine::test

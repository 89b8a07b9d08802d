// Between a sequence, the pool and the prefix cache.
#include "engine/page_keeper.h"

#include <algorithm>

#include "base/check.h"

namespace fathom::engine {

PageKeeper::PageKeeper(kv::PagePool& pages, const PageKeeperOptions& options)
    : pages_(&pages), only_prompts_(options.only_prompts) {
  if (options.prefix_cache) {
    cache_ = std::make_unique<kv::PrefixCache>(
        pages, options.hash ? options.hash : kv::PageHash(kv::hash_page));
  }
}

int64_t PageKeeper::n_available() const {
  return pages_->n_free() + pages_->n_idle();
}

// Log probabilities of a prompt need every position computed.
bool PageKeeper::uses_cache(const Sequence& sequence) const {
  return cache_ != nullptr && !sequence.wants_prompt_logprobs();
}

int64_t PageKeeper::shared_end(const Sequence& sequence, int64_t end) const {
  return only_prompts_ ? std::min(end, sequence.n_prompt_left()) : end;
}

void PageKeeper::take_cached(Sequence& sequence) {
  const int64_t before = sequence.num_computed;
  if (!uses_cache(sequence) || before != sequence.pages().capacity() ||
      before >= shared_end(sequence, sequence.n_tokens() - 1)) {
    return;
  }
  const kv::CacheEnd end =
      cache_->take(sequence.key(), sequence.tokens(), shared_end(sequence, sequence.n_tokens() - 1),
                   sequence.pages());
  sequence.num_computed = sequence.pages().capacity();
  const bool is_first_look = sequence.usage.cache_end == kv::CacheEnd::kOff;
  if (sequence.n_generated() == 0 && sequence.usage.n_preemptions == 0 &&
      (is_first_look || sequence.num_computed > before)) {
    sequence.usage.cached_tokens += sequence.num_computed - before;
    sequence.usage.cache_end = end;
  }
}

bool PageKeeper::prepare(Sequence& sequence, int64_t n_rows) {
  const int64_t first = sequence.num_computed;
  const int64_t shortage = sequence.pages().n_wanted(first, first + n_rows) - pages_->n_free();
  if (shortage > 0 && (cache_ == nullptr || cache_->evict(shortage) < shortage)) {
    return false;
  }
  sequence.pages().prepare(first, first + n_rows);
  return true;
}

void PageKeeper::keep(Sequence& sequence) {
  if (cache_ != nullptr) {
    cache_->insert(sequence.key(), sequence.tokens(), shared_end(sequence, sequence.num_computed),
                   sequence.pages());
  }
}

void PageKeeper::give_back(Sequence& sequence) {
  sequence.pages().clear();
  sequence.num_computed = 0;
}

void PageKeeper::count(const Sequence& sequence) {
  if (cache_ != nullptr) {
    cache_->count(sequence.n_prompt(), sequence.usage.cached_tokens);
  }
}

void PageKeeper::check(const Sequence& sequence, int64_t n_rows) const {
  const kv::PageAudit* audit = pages_->audit();
  if (audit == nullptr) {
    return;
  }
  const auto first = static_cast<size_t>(sequence.num_computed / kPageTokens);
  const auto end = static_cast<size_t>(kv::pages_for(sequence.num_computed + n_rows));
  const auto pages = sequence.pages().pages();
  FATHOM_CHECK(end <= pages.size());
  audit->check_read(pages, sequence.id());
  audit->check_write(pages.subspan(first, end - first), sequence.id());
}

bool PageKeeper::waits_for_others(Sequence& sequence, std::unordered_set<uint64_t>& claims) {
  if (!uses_cache(sequence)) {
    return false;
  }
  // Only pages that take_cached() could give.
  const int64_t n_full = shared_end(sequence, sequence.n_tokens() - 1) / kPageTokens;
  int64_t page = sequence.num_computed / kPageTokens;
  const bool is_at_border = sequence.num_computed == sequence.pages().capacity();
  if (is_at_border && page < n_full &&
      claims.contains(cache_->hash_of(sequence.key(), sequence.tokens(), page))) {
    return true;
  }
  for (; page < n_full; ++page) {
    claims.insert(cache_->hash_of(sequence.key(), sequence.tokens(), page));
  }
  return false;
}

}  // namespace fathom::engine

// A page is found by the hash of its tokens and of all pages before it, and taken only when the
// tokens themselves are equal.
//
// Order of recent_: whenever a path is used, its nodes move to the front with the first page in
// front of all. So a parent is never older than its child, and walking from the back meets children
// first.
#include "kv/prefix_cache.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace fathom::kv {

namespace {

constexpr size_t kEvictedRemembered = 4096;  // hashes, 32 KiB

std::span<const int32_t> page_tokens(std::span<const int32_t> tokens, int64_t page) {
  return tokens.subspan(static_cast<size_t>(page * kPageTokens), kPageTokens);
}

}  // namespace

PrefixCache::PrefixCache(PagePool& pool, PageHash hash)
    : pool_(&pool), hash_(std::move(hash)), evicted_(kEvictedRemembered, 0) {}

PrefixCache::NodeList::iterator PrefixCache::find(uint64_t hash, const Node* parent,
                                                  const PrefixScope& scope,
                                                  std::span<const int32_t> tokens) {
  const auto [begin, end] = by_hash_.equal_range(hash);
  const auto found = std::find_if(begin, end, [&](const auto& entry) {
    const Node& node = *entry.second;
    return node.parent == parent && (parent != nullptr || node.scope == scope) &&
           std::equal(node.tokens.begin(), node.tokens.end(), tokens.begin(), tokens.end());
  });
  return found == end ? recent_.end() : found->second;
}

void PrefixCache::touch(std::span<const NodeList::iterator> path) {
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    recent_.splice(recent_.begin(), recent_, *node);
  }
}

CacheEnd PrefixCache::take(PrefixKey& key, std::span<const int32_t> tokens, int64_t max_tokens,
                           PageTable& table) {
  const int64_t n_full = std::min(std::ssize(tokens), max_tokens) / kPageTokens;
  CacheEnd end =
      n_full < std::ssize(tokens) / kPageTokens ? CacheEnd::kLastToken : CacheEnd::kEndOfPrompt;
  std::vector<NodeList::iterator> path;
  const Node* parent = nullptr;
  for (int64_t page = 0; page < n_full; ++page) {
    const uint64_t hash = hash_of(key, tokens, page);
    const auto node = find(hash, parent, key.scope(), page_tokens(tokens, page));
    if (node == recent_.end()) {
      const bool is_late = evicted_[hash % kEvictedRemembered] == hash;
      end = is_late ? CacheEnd::kEvicted : CacheEnd::kNotSeen;
      break;
    }
    if (page < table.n_pages()) {
      if (table.pages()[static_cast<size_t>(page)] != node->page) {
        break;  // the table's own page is not the kept one: nothing behind it may be taken
      }
    } else {
      table.append_shared(node->page);
    }
    path.push_back(node);
    parent = &*node;
  }
  touch(path);
  return end;
}

void PrefixCache::count(int64_t asked_tokens, int64_t matched_tokens) {
  ++stats_.n_asked;
  stats_.n_hits += matched_tokens > 0 ? 1 : 0;
  stats_.asked_tokens += asked_tokens;
  stats_.matched_tokens += matched_tokens;
}

PrefixCache::NodeList::iterator PrefixCache::add(uint64_t hash, Node* parent,
                                                 const PrefixScope& scope,
                                                 std::span<const int32_t> tokens, int32_t page) {
  pool_->share(page, kCacheOwner);
  pool_->mark_cached(page, true);
  const auto node =
      recent_.insert(recent_.begin(), Node{.hash = hash,
                                           .page = page,
                                           .scope = parent == nullptr ? scope : PrefixScope{},
                                           .tokens = {tokens.begin(), tokens.end()},
                                           .parent = parent,
                                           .n_children = 0});
  by_hash_.emplace(hash, node);
  if (parent != nullptr) {
    ++parent->n_children;
  }
  ++stats_.n_inserted;
  return node;
}

void PrefixCache::insert(PrefixKey& key, std::span<const int32_t> tokens, int64_t n_computed,
                         PageTable& table) {
  FATHOM_CHECK(n_computed <= std::ssize(tokens));
  const int64_t n_full = std::min(n_computed / kPageTokens, table.n_pages());
  std::vector<NodeList::iterator> path;
  Node* parent = nullptr;
  for (int64_t page = 0; page < n_full; ++page) {
    const auto content = page_tokens(tokens, page);
    const uint64_t hash = hash_of(key, tokens, page);
    const int32_t own = table.pages()[static_cast<size_t>(page)];
    auto node = find(hash, parent, key.scope(), content);
    if (node == recent_.end()) {
      node = add(hash, parent, key.scope(), content, own);
    } else if (node->page != own) {
      table.replace_shared(static_cast<size_t>(page), node->page);
    }
    path.push_back(node);
    parent = &*node;
  }
  touch(path);
}

void PrefixCache::erase(NodeList::iterator node) {
  const auto [begin, end] = by_hash_.equal_range(node->hash);
  by_hash_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == node; }));
  if (node->parent != nullptr) {
    --node->parent->n_children;
  }
  evicted_[node->hash % kEvictedRemembered] = node->hash;
  pool_->mark_cached(node->page, false);
  pool_->release(node->page, kCacheOwner);
  recent_.erase(node);
}

int64_t PrefixCache::evict(int64_t n_pages) {
  int64_t n_evicted = 0;
  auto node = recent_.end();
  while (n_evicted < n_pages && node != recent_.begin()) {
    const auto candidate = std::prev(node);
    if (candidate->n_children == 0 && pool_->n_owners(candidate->page) == 1) {
      erase(candidate);
      ++n_evicted;
    } else {
      node = candidate;
    }
  }
  stats_.n_evicted += n_evicted;
  return n_evicted;
}

void PrefixCache::clear() {
  while (!recent_.empty()) {
    erase(std::prev(recent_.end()));
  }
}

void PrefixCache::visit(const std::function<void(const Kept&)>& visitor) const {
  for (const Node& node : recent_) {
    visitor({.page = node.page,
             .parent = node.parent == nullptr ? -1 : node.parent->page,
             .tokens = node.tokens,
             .scope = node.parent == nullptr ? &node.scope : nullptr});
  }
}

void PrefixCache::self_check() const {
  FATHOM_CHECK(by_hash_.size() == recent_.size());
  std::unordered_map<const Node*, int64_t> n_children;
  std::unordered_map<int32_t, int> n_holders;
  for (auto node = recent_.rbegin(); node != recent_.rend(); ++node) {
    FATHOM_CHECK(pool_->n_owners(node->page) >= 1);
    FATHOM_CHECK(++n_holders[node->page] == 1);  // no page twice
    // All children came before, from the back.
    FATHOM_CHECK(n_children[&*node] == node->n_children);
    FATHOM_CHECK(std::ssize(node->tokens) == kPageTokens);
    if (node->parent != nullptr) {
      ++n_children[node->parent];
      // In use, so what it follows is in use.
      FATHOM_CHECK(pool_->n_owners(node->page) == 1 || pool_->n_owners(node->parent->page) > 1);
    }
  }
}

}  // namespace fathom::kv

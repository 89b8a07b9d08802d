// A page is found by the hash of its tokens and of all pages before it, and taken only when the
// tokens themselves are equal.
//
// Order of recent_: whenever a path is used, its nodes move to the front with the first page in
// front of all. So a parent is never older than its child, and walking from the back meets children
// first.
#include "kv/prefix_cache.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "base/check.h"

namespace fathom::kv {

namespace {

std::span<const int32_t> page_tokens(std::span<const int32_t> tokens, int64_t page) {
  return tokens.subspan(static_cast<size_t>(page * kPageTokens), kPageTokens);
}

}  // namespace

PrefixCache::NodeList::iterator PrefixCache::find(uint64_t hash, const Node* parent,
                                                  const PrefixScope& scope,
                                                  std::span<const int32_t> tokens) {
  const auto [begin, end] = by_hash_.equal_range(hash);
  const auto found = std::find_if(begin, end, [&](const auto& entry) {
    const Node& node = *entry.second;
    return node.parent == parent && node.scope == scope &&
           std::equal(node.tokens.begin(), node.tokens.end(), tokens.begin(), tokens.end());
  });
  return found == end ? recent_.end() : found->second;
}

void PrefixCache::touch(std::span<const NodeList::iterator> path) {
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    recent_.splice(recent_.begin(), recent_, *node);
  }
}

std::vector<int32_t> PrefixCache::take(const PrefixScope& scope, std::span<const int32_t> tokens,
                                       int64_t max_tokens) {
  const int64_t n_full = std::min(std::ssize(tokens), max_tokens) / kPageTokens;
  std::vector<NodeList::iterator> path;
  std::vector<int32_t> pages;
  uint64_t hash = hash_scope(scope);
  const Node* parent = nullptr;
  for (int64_t page = 0; page < n_full; ++page) {
    const auto content = page_tokens(tokens, page);
    hash = hash_page(hash, content);
    const auto node = find(hash, parent, scope, content);
    if (node == recent_.end()) {
      break;
    }
    path.push_back(node);
    pages.push_back(node->page);
    pool_->share(node->page);
    parent = &*node;
  }
  touch(path);
  return pages;
}

void PrefixCache::count(int64_t asked_tokens, int64_t matched_tokens) {
  stats_.asked_tokens += asked_tokens;
  stats_.matched_tokens += matched_tokens;
}

void PrefixCache::insert(const PrefixScope& scope, std::span<const int32_t> tokens,
                         std::span<const int32_t> pages, int64_t n_computed) {
  FATHOM_CHECK(n_computed <= std::ssize(tokens));
  const int64_t n_full = std::min(n_computed / kPageTokens, std::ssize(pages));
  std::vector<NodeList::iterator> path;
  uint64_t hash = hash_scope(scope);
  Node* parent = nullptr;
  for (int64_t page = 0; page < n_full; ++page) {
    const auto content = page_tokens(tokens, page);
    hash = hash_page(hash, content);
    auto node = find(hash, parent, scope, content);
    if (node == recent_.end()) {
      const int32_t number = pages[static_cast<size_t>(page)];
      pool_->share(number);
      node = recent_.insert(recent_.begin(), Node{.hash = hash,
                                                  .page = number,
                                                  .scope = scope,
                                                  .tokens = {content.begin(), content.end()},
                                                  .parent = parent,
                                                  .n_children = 0});
      by_hash_.emplace(hash, node);
      if (parent != nullptr) {
        ++parent->n_children;
      }
      ++stats_.n_inserted;
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
  pool_->release(node->page);
  recent_.erase(node);
}

// A sequence that computed a page of its own while another one's was kept may own a child here and
// not the parent: what stands before a page in use is not idle either.
int64_t PrefixCache::n_idle() const {
  std::unordered_set<const Node*> busy;
  int64_t n_idle = 0;
  for (auto node = recent_.rbegin(); node != recent_.rend(); ++node) {
    if (pool_->n_owners(node->page) == 1 && !busy.contains(&*node)) {
      ++n_idle;
    } else if (node->parent != nullptr) {
      busy.insert(node->parent);
    }
  }
  return n_idle;
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
    }
  }
}

}  // namespace fathom::kv

// By what a page of the prefix cache is found: what it was computed under, whose it is, and the
// tokens up to its end. Called by kv/prefix_cache, engine. Read next: kv/prefix_cache.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/page_pool.h"

namespace fathom::kv {

// What K and V depend on besides the tokens, and who may share: pages of one scope are never given
// to another.
struct PrefixScope {
  PageHeader header;
  std::string salt = {};     // whose prompts these are; "" for all
  std::string model = {};    // names the weights by their content
  std::string adapter = {};  // the same of an adapter; "" for none

  bool operator==(const PrefixScope&) const = default;
};

// Why a prompt took over no more pages than it did.
enum class CacheEnd : uint8_t {
  kOff,          // there is no cache, or the request needs every position computed
  kEndOfPrompt,  // all its full pages were found; the rest fills no page
  kLastToken,    // its last full page is computed all the same: the logits of its end are wanted
  kNotSeen,      // no such page, or one of another scope
  kEvicted,      // the page was there and had to give way
};

// "off", "end_of_prompt", "last_token", "not_seen", "evicted"
std::string_view name_of(CacheEnd end);

// Hash of a page from the hash of the page before it (of the scope for the first) and its tokens.
using PageHash = std::function<uint64_t(uint64_t before, std::span<const int32_t> tokens)>;

// The standard one. Equal hashes make candidates only: tokens are compared before a page is used.
uint64_t hash_page(uint64_t before, std::span<const int32_t> tokens);

// Parts are hashed with their tags and lengths: no two scopes run together.
uint64_t hash_scope(const PrefixScope& scope);

// The scope of a sequence and the hashes of its full pages, as far as they were needed.
class PrefixKey {
 public:
  explicit PrefixKey(PrefixScope scope);

  [[nodiscard]] const PrefixScope& scope() const { return scope_; }

  // Hash of page `page` of `tokens`, which must hold it whole and begin as before.
  uint64_t hash(const PageHash& hash_page, std::span<const int32_t> tokens, int64_t page);

 private:
  PrefixScope scope_;
  uint64_t root_;
  std::vector<uint64_t> hashes_;
};

}  // namespace fathom::kv

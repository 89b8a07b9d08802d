// Tags and lengths keep the parts of a scope apart; pages are chained to the pages before them.
#include "kv/prefix_key.h"

#include <utility>

#include "kv/layout.h"

namespace fathom::kv {

namespace {

// One round of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
uint64_t mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

enum class Tag : uint64_t { kType = 1, kArithmetic, kRope, kSalt, kModel, kAdapter };

uint64_t add_number(uint64_t hash, Tag tag, uint64_t value) {
  return mix(mix(hash ^ static_cast<uint64_t>(tag)) ^ value);
}

uint64_t add_text(uint64_t hash, Tag tag, std::string_view text) {
  hash = add_number(hash, tag, text.size());
  for (const char c : text) {
    hash = mix(hash ^ static_cast<unsigned char>(c));
  }
  return hash;
}

}  // namespace

std::string_view name_of(CacheEnd end) {
  switch (end) {
    case CacheEnd::kOff:
      return "off";
    case CacheEnd::kEndOfPrompt:
      return "end_of_prompt";
    case CacheEnd::kLastToken:
      return "last_token";
    case CacheEnd::kNotSeen:
      return "not_seen";
    case CacheEnd::kEvicted:
      return "evicted";
  }
  return "off";
}

uint64_t hash_page(uint64_t before, std::span<const int32_t> tokens) {
  uint64_t hash = before;
  for (const int32_t token : tokens) {
    hash = mix(hash ^ static_cast<uint32_t>(token));
  }
  return hash;
}

uint64_t hash_scope(const PrefixScope& scope) {
  uint64_t hash = add_number(0, Tag::kType, static_cast<uint64_t>(scope.header.type));
  hash = add_number(hash, Tag::kArithmetic, scope.header.arithmetic);
  hash = add_number(hash, Tag::kRope, static_cast<uint64_t>(scope.header.rope_id));
  hash = add_text(hash, Tag::kSalt, scope.salt);
  hash = add_text(hash, Tag::kModel, scope.model);
  return add_text(hash, Tag::kAdapter, scope.adapter);
}

PrefixKey::PrefixKey(PrefixScope scope) : scope_(std::move(scope)), root_(hash_scope(scope_)) {}

uint64_t PrefixKey::hash(const PageHash& hash_page, std::span<const int32_t> tokens, int64_t page) {
  for (int64_t next = std::ssize(hashes_); next <= page; ++next) {
    const auto content = tokens.subspan(static_cast<size_t>(next * kPageTokens), kPageTokens);
    hashes_.push_back(hash_page(hashes_.empty() ? root_ : hashes_.back(), content));
  }
  return hashes_[static_cast<size_t>(page)];
}

}  // namespace fathom::kv

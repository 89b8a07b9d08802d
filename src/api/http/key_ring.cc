// SHA-256 of what a client sends is compared with every digest, all bytes of each: neither the
// content of a key nor its place in the list shows in the time taken.
#include "api/http/key_ring.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>

#include "base/error.h"
#include "base/regular_file.h"

namespace fathom::api::http {

namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr int64_t kMaxFileBytes = int64_t{16} << 20;

std::string_view trim(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// Letters that a header's value may hold, without blanks and commas.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < '\x7f' && c != ','; });
}

}  // namespace

KeyRing::Digest KeyRing::digest_of(std::string_view key) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

void KeyRing::add_entry(std::string_view entry, const std::string& where) {
  const size_t blank = entry.find_first_of(kBlanks);
  const std::string_view value =
      blank == std::string_view::npos ? entry : trim(entry.substr(blank));
  if (!is_plain(value) || !is_plain(entry.substr(0, blank))) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format(
             "{}: no API key: found blanks or letters beyond ASCII; expected KEY or NAME KEY",
             where));
  }
  const Digest digest = digest_of(value);
  Key key{blank == std::string_view::npos ? fmt::format("key-{:02x}{:02x}{:02x}{:02x}", digest[0],
                                                        digest[1], digest[2], digest[3])
                                          : std::string(entry.substr(0, blank)),
          digest};
  for (const Key& other : keys_) {
    if (other.digest == key.digest || other.name == key.name) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("{}: the API key '{}' has the {} of an earlier one; give each once", where,
                       key.name, other.name == key.name ? "name" : "text"));
    }
  }
  keys_.push_back(std::move(key));
}

void KeyRing::add(std::string_view text, const std::string& where) {
  int64_t line = 1;
  while (!text.empty()) {
    const size_t end = text.find_first_of(",\n");
    const std::string_view entry = trim(text.substr(0, end));
    if (entry.starts_with('#')) {  // to the end of the line, commas and all
      const size_t rest = text.find('\n');
      text.remove_prefix(rest == std::string_view::npos ? text.size() : rest);
      continue;
    }
    if (!entry.empty()) {
      add_entry(entry, fmt::format("{}, line {}", where, line));
    }
    if (end == std::string_view::npos) {
      return;
    }
    line += text[end] == '\n' ? 1 : 0;
    text.remove_prefix(end + 1);
  }
}

void KeyRing::add_file(const std::string& path) {
  const std::string text = RegularFile(path).read(kMaxFileBytes);
  const size_t n_before = keys_.size();
  add(text, path);
  if (keys_.size() == n_before) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: found no API key; expected one a line: KEY or NAME KEY", path));
  }
}

std::string KeyRing::find(std::string_view key) const {
  const Digest digest = digest_of(key);
  size_t found = keys_.size();
  for (size_t i = 0; i < keys_.size(); ++i) {
    const bool is_equal = CRYPTO_memcmp(digest.data(), keys_[i].digest.data(), digest.size()) == 0;
    found = is_equal ? i : found;
  }
  return found < keys_.size() ? keys_[found].name : std::string();
}

std::string_view bearer_key(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) {
    return {};
  }
  for (size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower != kScheme[i]) {
      return {};
    }
  }
  return trim(authorization.substr(kScheme.size()));
}

}  // namespace fathom::api::http

// The API keys that may use the server: names and digests, never the keys themselves.
// Called by api/http/front and api/server. Read next: key_ring.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::api::http {

// Immutable once filled; any thread may look up.
class KeyRing {
 public:
  // Adds the keys of a text: one a line, or several with commas between; "KEY" or "NAME KEY"; what
  // follows '#' at the begin of a line is a comment. `where` names the text in errors.
  // Errors: kInvalidArgument for a key twice, a name twice, letters that no header can carry; the
  // message has the line's number and never the key.
  void add(std::string_view text, const std::string& where);

  // Reads a file of keys. Errors: kNotFound when it cannot be read; those of add; kInvalidArgument
  // when it holds no key.
  void add_file(const std::string& path);

  [[nodiscard]] bool is_empty() const { return keys_.empty(); }

  [[nodiscard]] size_t size() const { return keys_.size(); }

  // The name of the key that a client sent ("key-" and the begin of its digest for one without a
  // name); empty when it is none. Takes the same time whichever key it is, and for none.
  [[nodiscard]] std::string find(std::string_view key) const;

 private:
  using Digest = std::array<uint8_t, 32>;

  struct Key {
    std::string name;
    Digest digest;
  };

  static Digest digest_of(std::string_view key);
  void add_entry(std::string_view entry, const std::string& where);

  std::vector<Key> keys_;
};

// The key in a header "Authorization: Bearer KEY"; empty without one.
std::string_view bearer_key(std::string_view authorization);

}  // namespace fathom::api::http

// Strings whose every byte knows its origin: building, cutting and mapping them.
// Called by every jinja_ file that makes strings. Read next: codec/jinja_value.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/jinja_value.h"
#include "codec/utf8.h"

namespace fathom::codec::jinja {

// No string of a render grows beyond this, output limit or not.
inline constexpr size_t kMaxStringBytes = size_t{256} << 20;

// Collects text. Neighbours of one origin become one run, and text of a single origin costs no more
// than a plain string. Error: kResourceExhausted above `limit` bytes.
class TextBuilder {
 public:
  explicit TextBuilder(size_t limit = kMaxStringBytes) : limit_(limit) {}

  void append(std::string_view text, OriginId origin = kTemplateOrigin);
  void append(const Value& string);  // a kString
  // Bytes [begin, end) of a kString.
  void append_part(const Value& string, size_t begin, size_t end);

  // Makes room for a text of that many bytes.
  void reserve(size_t n_bytes) { bytes_.reserve(n_bytes); }

  // Begins with the text of a kString whose only owner gives it away. The builder is empty before.
  void start_with(Value string);

  [[nodiscard]] size_t size() const { return bytes_.size(); }

  // The text as a value. The builder is empty afterwards.
  Value take();

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  // In order; none for no text.
  [[nodiscard]] std::vector<Run> runs() const;

  // The text without its runs. The builder is empty afterwards.
  std::string take_bytes();

 private:
  std::string bytes_;
  std::vector<Run> runs_;              // empty: all of it has one origin
  OriginId origin_ = kTemplateOrigin;  // of the last run
  size_t limit_;
};

// Bytes [begin, end) of a kString, with their origins.
Value part_of(const Value& string, size_t begin, size_t end);

// Calls fn(piece, origin) for each run of a kString, in order.
template <class F>
void for_each_run(const Value& string, F fn) {
  const auto& object = string.as<StringObject>();
  const std::string_view bytes = object.bytes;
  if (object.runs.empty()) {
    fn(bytes, string.origin());
    return;
  }
  size_t begin = 0;
  for (const Run& run : object.runs) {
    fn(bytes.substr(begin, run.end - begin), run.origin);
    begin = run.end;
  }
}

// The origin of a byte of a kString with runs.
OriginId origin_in_runs(const std::vector<Run>& runs, size_t byte);

// The origin of a byte of a kString.
inline OriginId origin_at(const Value& string, size_t byte) {
  const auto& runs = string.as<StringObject>().runs;
  return runs.empty() ? string.origin() : origin_in_runs(runs, byte);
}

// A new kString from a function of its pieces, origin kept: fn(std::string_view) -> std::string.
template <class F>
Value map_runs(const Value& string, F fn) {
  TextBuilder out;
  for_each_run(string,
               [&](std::string_view piece, OriginId origin) { out.append(fn(piece), origin); });
  return out.take();
}

// Characters of a kString; counted once.
int64_t length_of(const Value& string);
// The same for text of a template, whose strings are counted while it is parsed.
int64_t count_chars(std::string_view text);

// The byte at which character `index` (0 .. length) begins.
size_t byte_of(const Value& string, int64_t index);

// Bytes of the character at `at`; text is valid UTF-8.
inline size_t char_size(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The character at `at` (< size).
inline char32_t char_at(std::string_view text, size_t at) {
  return read_utf8(text, at).character;
}

// Where the character before `at` (> 0) begins.
inline size_t char_before(std::string_view text, size_t at) {
  do {
    --at;
  } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80);
  return at;
}

// Where an input stands: "messages", 3, "content". Names are kept apart so that a render that asks
// for no path builds none.
class Origins {
 public:
  struct Node {
    OriginId parent;
    int64_t index;    // of a list; -1: `key` counts
    std::string key;  // of a dict, or the variable's name where parent is 0
  };

  Origins() : nodes_(1) {}

  OriginId add(OriginId parent, std::string_view key);
  OriginId add(OriginId parent, int64_t index);

  // Lets paths begin below `id`.
  void make_root(OriginId id);

  [[nodiscard]] const Node& node(OriginId id) const { return nodes_[id]; }

  [[nodiscard]] size_t size() const { return nodes_.size(); }

 private:
  std::vector<Node> nodes_;  // 0 stands for the template
};

}  // namespace fathom::codec::jinja

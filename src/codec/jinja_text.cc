// Runs are merged while text is added; cutting walks the runs that it crosses.
#include "codec/jinja_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/error.h"

namespace fathom::codec::jinja {

namespace {

constexpr size_t kFirstRuns = 8;

}  // namespace

void TextBuilder::append(std::string_view text, OriginId origin) {
  if (text.empty()) {
    return;
  }
  if (text.size() > limit_ - bytes_.size()) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format(
             "chat template: text longer than the limit of {} bytes; shorten the messages or "
             "look for a loop in the template that repeats them",
             limit_));
  }
  if (origin != origin_) {
    if (!bytes_.empty() && runs_.empty()) {
      runs_.reserve(kFirstRuns);
      runs_.push_back({bytes_.size(), origin_});
    }
    if (!runs_.empty()) {
      runs_.push_back({bytes_.size(), origin});
    }
    origin_ = origin;
  }
  bytes_ += text;
  if (!runs_.empty()) {
    runs_.back().end = bytes_.size();
  }
}

void TextBuilder::start_with(Value string) {
  auto& object = string.as<StringObject>();
  FATHOM_DCHECK(bytes_.empty() && object.is_unique());
  bytes_ = std::move(object.bytes);
  runs_ = std::move(object.runs);
  origin_ = runs_.empty() ? string.origin() : runs_.back().origin;
}

std::vector<Run> TextBuilder::runs() const {
  if (runs_.empty() && !bytes_.empty()) {
    return {{bytes_.size(), origin_}};
  }
  return runs_;
}

std::string TextBuilder::take_bytes() {
  std::string bytes = std::move(bytes_);
  bytes_.clear();
  runs_.clear();
  return bytes;
}

void TextBuilder::append(const Value& string) {
  for_each_run(string, [&](std::string_view piece, OriginId origin) { append(piece, origin); });
}

void TextBuilder::append_part(const Value& string, size_t begin, size_t end) {
  const auto& object = string.as<StringObject>();
  const std::string_view bytes = object.bytes;
  if (object.runs.empty()) {
    append(bytes.substr(begin, end - begin), string.origin());
    return;
  }
  auto run = std::upper_bound(object.runs.begin(), object.runs.end(), begin,
                              [](size_t at, const Run& r) { return at < r.end; });
  while (begin < end) {
    const size_t stop = std::min(end, run->end);
    append(bytes.substr(begin, stop - begin), run->origin);
    begin = stop;
    ++run;
  }
}

Value TextBuilder::take() {
  auto* object = new StringObject;
  OriginId origin = bytes_.empty() ? kTemplateOrigin : origin_;
  if (!runs_.empty()) {
    // What is made of the whole, such as its length, came from an input.
    origin = runs_[0].origin == kTemplateOrigin ? runs_[1].origin : runs_[0].origin;
  }
  object->bytes = std::move(bytes_);
  object->runs = std::move(runs_);
  bytes_.clear();
  runs_.clear();
  return {Kind::kString, object, origin};
}

Value part_of(const Value& string, size_t begin, size_t end) {
  const auto& object = string.as<StringObject>();
  if (begin == 0 && end == object.bytes.size()) {
    return string;
  }
  if (object.runs.empty()) {
    return Value::string(object.bytes.substr(begin, end - begin), string.origin());
  }
  TextBuilder out;
  out.append_part(string, begin, end);
  return out.take();
}

OriginId origin_in_runs(const std::vector<Run>& runs, size_t byte) {
  const auto run = std::upper_bound(runs.begin(), runs.end(), byte,
                                    [](size_t at, const Run& r) { return at < r.end; });
  return run == runs.end() ? runs.back().origin : run->origin;
}

// Bytes that begin no character, 10xxxxxx, are counted eight at a time.
int64_t count_chars(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  uint64_t n_inner = 0;
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    const uint64_t is_inner = (word >> 7) & (~word >> 6) & kOnes;
    n_inner += (is_inner * kOnes) >> 56;
  }
  for (; at < text.size(); ++at) {
    n_inner += (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80 ? 1 : 0;
  }
  return static_cast<int64_t>(text.size() - n_inner);
}

int64_t length_of(const Value& string) {
  auto& object = string.as<StringObject>();
  if (object.n_chars < 0) {
    object.n_chars = count_chars(object.bytes);
  }
  return object.n_chars;
}

size_t byte_of(const Value& string, int64_t index) {
  const std::string_view text = string.text();
  const int64_t length = length_of(string);
  if (length == static_cast<int64_t>(text.size())) {
    return static_cast<size_t>(index);
  }
  size_t at = 0;
  if (index <= length / 2) {
    for (; index > 0; --index) {
      at += char_size(text, at);
    }
    return at;
  }
  at = text.size();
  for (int64_t back = length - index; back > 0; --back) {
    at = char_before(text, at);
  }
  return at;
}

OriginId Origins::add(OriginId parent, std::string_view key) {
  nodes_.push_back({parent, -1, std::string(key)});
  return static_cast<OriginId>(nodes_.size() - 1);
}

OriginId Origins::add(OriginId parent, int64_t index) {
  nodes_.push_back({parent, index, {}});
  return static_cast<OriginId>(nodes_.size() - 1);
}

void Origins::make_root(OriginId id) {
  for (Node& node : nodes_) {
    node.parent = node.parent == id ? kTemplateOrigin : node.parent;
  }
}

}  // namespace fathom::codec::jinja

// Text waits while it may be the beginning of a stop string; what waits for whole characters does
// so in the decoding steps. Called by api/generator. Read next: codec/decode_chain.h. Source:
// Knuth, Morris and Pratt, SIAM J. Comput. 6 (1977).
#include "codec/detokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

// fallback[i]: the longest proper beginning of `stop` that its first i + 1 bytes end with.
std::vector<uint32_t> make_fallback(std::string_view stop) {
  std::vector<uint32_t> fallback(stop.size(), 0);
  uint32_t length = 0;
  for (size_t i = 1; i < stop.size(); ++i) {
    while (length > 0 && stop[i] != stop[length]) {
      length = fallback[length - 1];
    }
    length += stop[i] == stop[length] ? 1 : 0;
    fallback[i] = length;
  }
  return fallback;
}

}  // namespace

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, std::vector<std::string> stops,
                             bool continues_text)
    : stream_(tokenizer.start_decoding(false, !continues_text)) {
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty() || stops[i].size() > std::numeric_limits<uint32_t>::max()) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("stop string {} has {} bytes; expected 1 to 2^32 - 1", i + 1,
                       stops[i].size()));
    }
    std::vector<uint32_t> fallback = make_fallback(stops[i]);
    stops_.push_back({.stop = std::move(stops[i]), .fallback = std::move(fallback)});
  }
}

StreamDecoder::Piece StreamDecoder::push(TokenId id) {
  if (stopped_) {
    return {.text = {}, .stopped = true, .stop = {}};
  }
  std::string text;
  stream_->push(id, text);
  return feed(text);
}

StreamDecoder::Piece StreamDecoder::push_unwatched(TokenId id) {
  Piece piece{.text = std::exchange(held_, {}), .stopped = stopped_, .stop = {}};
  for (StopMatch& match : stops_) {
    match.matched = 0;
  }
  stream_->push(id, piece.text);
  return piece;
}

StreamDecoder::Piece StreamDecoder::feed(std::string_view text) {
  size_t hold = 0;  // bytes at the end that may begin a stop string
  for (const char c : text) {
    held_ += c;
    hold = 0;
    const StopMatch* complete = nullptr;
    for (StopMatch& match : stops_) {
      while (match.matched > 0 && match.stop[match.matched] != c) {
        match.matched = match.fallback[match.matched - 1];
      }
      match.matched += match.stop[match.matched] == c ? 1 : 0;
      if (match.matched == match.stop.size()) {
        complete =
            complete == nullptr || match.stop.size() > complete->stop.size() ? &match : complete;
        match.matched = match.fallback[match.matched - 1];
      }
      hold = std::max(hold, match.matched);
    }
    if (complete != nullptr) {
      stopped_ = true;
      held_.resize(held_.size() - complete->stop.size());
      return {.text = std::exchange(held_, {}), .stopped = true, .stop = complete->stop};
    }
  }
  if (text.empty()) {
    return {};
  }
  // A stop string may begin or end inside a character only if it is not valid UTF-8 itself.
  hold += open_end_bytes(std::string_view(held_).substr(0, held_.size() - hold));
  Piece piece{.text = held_.substr(0, held_.size() - hold), .stopped = false, .stop = {}};
  held_.erase(0, held_.size() - hold);
  return piece;
}

std::string StreamDecoder::finish() {
  if (stopped_) {
    return {};
  }
  std::string rest;
  stream_->finish(rest);
  Piece last = feed(rest);
  if (!last.stopped) {
    last.text += std::exchange(held_, {});
  }
  stopped_ = true;
  return last.text;
}

}  // namespace fathom::codec

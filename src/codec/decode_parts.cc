// What must be kept back until more is known, step by step.
// Called by codec/decode_steps, codec/decode_chain. Read next: codec/decode_chain.cc.
#include "codec/decode_parts.h"

#include <algorithm>
#include <utility>

#include "codec/normalizer.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

class GatherFlow final : public DecodeFlow {
 public:
  explicit GatherFlow(std::unique_ptr<DecodeFlow> whole) : whole_(std::move(whole)) {}

  void put(std::string_view token, DecodeSink& /*next*/) override {
    text_ += token;
    has_any_ = true;
  }

  void finish(DecodeSink& next) override {
    if (has_any_) {
      whole_->put(text_, next);
    }
    whole_->finish(next);
  }

 private:
  std::unique_ptr<DecodeFlow> whole_;
  std::string text_;
  bool has_any_ = false;
};

class ReplaceFlow final : public DecodeFlow {
 public:
  ReplaceFlow(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  void put(std::string_view token, DecodeSink& next) override {
    held_ += token;
    std::string out;
    size_t done = 0;
    for (size_t at = held_.find(from_); at != std::string::npos; at = held_.find(from_, done)) {
      out.append(held_, done, at - done).append(to_);
      done = at + from_.size();
    }
    held_.erase(0, done);
    // What may begin another one: the longest end of the rest that `from` begins with.
    size_t keep = std::min(held_.size(), from_.size() - 1);
    while (keep > 0 && !std::string_view(from_).starts_with(
                           std::string_view(held_).substr(held_.size() - keep))) {
      --keep;
    }
    out.append(held_, 0, held_.size() - keep);
    held_.erase(0, held_.size() - keep);
    next.put(out);
  }

  void finish(DecodeSink& next) override { next.put(std::exchange(held_, {})); }

 private:
  std::string from_, to_;
  std::string held_;
};

class FuseStep final : public DecodeStep {
 public:
  [[nodiscard]] bool fuses() const override { return true; }

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool /*at_start*/,
                                                  bool /*fused*/) const override {
    return std::make_unique<Flow>();
  }

 private:
  class Flow final : public DecodeFlow {
   public:
    void put(std::string_view token, DecodeSink& next) override { next.put(token); }
  };
};

class StripStep final : public DecodeStep {
 public:
  StripStep(char32_t content, size_t start, size_t stop) : start_(start), stop_(stop) {
    append_utf8(content_, content);
  }

  [[nodiscard]] std::optional<std::string> map(std::string_view token) const override {
    for (size_t i = 0; i < start_ && token.starts_with(content_); ++i) {
      token.remove_prefix(content_.size());
    }
    for (size_t i = 0; i < stop_ && token.ends_with(content_); ++i) {
      token.remove_suffix(content_.size());
    }
    return std::string(token);
  }

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const override {
    return std::make_unique<Flow>(*this, at_start, fused);
  }

 private:
  class Flow final : public DecodeFlow {
   public:
    Flow(const StripStep& step, bool at_start, bool fused)
        : step_(step), fused_(fused), n_left_(at_start ? step.start_ : 0) {}

    void put(std::string_view token, DecodeSink& next) override {
      if (!fused_) {
        next.put(*step_.map(token));
        return;
      }
      if (n_left_ == 0 && step_.stop_ == 0 && held_.empty()) {
        next.put(token);
        return;
      }
      held_ += token;
      const std::string& content = step_.content_;
      while (n_left_ > 0 && held_.size() >= content.size()) {
        if (!held_.starts_with(content)) {
          n_left_ = 0;
          break;
        }
        held_.erase(0, content.size());
        --n_left_;
      }
      if (n_left_ > 0 && !held_.empty() && !content.starts_with(held_)) {
        n_left_ = 0;
      }
      if (n_left_ == 0) {
        release(next);
      }
    }

    void finish(DecodeSink& next) override {
      for (size_t i = 0; i < step_.stop_ && held_.ends_with(step_.content_); ++i) {
        held_.erase(held_.size() - step_.content_.size());
      }
      next.put(std::exchange(held_, {}));
    }

   private:
    // Gives all but what the end may still strip.
    void release(DecodeSink& next) {
      size_t keep = 0;
      const std::string_view text(held_);
      while (keep / step_.content_.size() < step_.stop_ &&
             text.substr(0, text.size() - keep).ends_with(step_.content_)) {
        keep += step_.content_.size();
      }
      next.put(text.substr(0, text.size() - keep));
      held_.erase(0, held_.size() - keep);
    }

    const StripStep& step_;
    bool fused_;
    size_t n_left_;
    std::string held_;
  };

  std::string content_;
  size_t start_, stop_;
};

class RepairStep final : public DecodeStep {
 public:
  explicit RepairStep(bool each_byte) : each_byte_(each_byte) {}

  [[nodiscard]] bool fuses() const override { return true; }

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool /*at_start*/,
                                                  bool /*fused*/) const override {
    return std::make_unique<Flow>(each_byte_);
  }

 private:
  class Flow final : public DecodeFlow {
   public:
    explicit Flow(bool each_byte) : each_byte_(each_byte) {}

    void put(std::string_view token, DecodeSink& next) override {
      if (open_.empty() && is_valid_utf8(token)) {
        next.put(token);
        return;
      }
      open_ += token;
      const size_t whole = open_.size() - open_end_bytes(open_);
      next.put(repair(std::string_view(open_).substr(0, whole)));
      open_.erase(0, whole);
    }

    void finish(DecodeSink& next) override { next.put(repair(std::exchange(open_, {}))); }

   private:
    [[nodiscard]] std::string repair(std::string_view text) const {
      if (!each_byte_) {
        return replace_invalid_utf8(text);
      }
      std::string out;
      for (size_t at = 0; at < text.size();) {
        const Utf8Unit unit = read_utf8(text, at);
        const bool is_whole = unit.kind == Utf8Unit::Kind::kCharacter;
        out += is_whole ? text.substr(at, unit.size) : kReplacement;
        at += is_whole ? unit.size : 1;
      }
      return out;
    }

    bool each_byte_;
    std::string open_;  // bytes of a character that is not complete
  };

  bool each_byte_;
};

}  // namespace

std::unique_ptr<DecodeFlow> gather_parts(std::unique_ptr<DecodeFlow> whole) {
  return std::make_unique<GatherFlow>(std::move(whole));
}

std::unique_ptr<DecodeFlow> replace_parts(std::string from, std::string to) {
  return std::make_unique<ReplaceFlow>(std::move(from), std::move(to));
}

DecodeStepPtr make_decode_fuse() {
  return std::make_unique<FuseStep>();
}

DecodeStepPtr make_decode_strip(char32_t content, size_t start, size_t stop) {
  return std::make_unique<StripStep>(content, start, stop);
}

DecodeStepPtr make_decode_repair(bool each_byte) {
  return std::make_unique<RepairStep>(each_byte);
}

}  // namespace fathom::codec

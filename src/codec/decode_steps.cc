// Steps that look at whole tokens. Those that also work on parts stand in decode_parts.cc.
// Called by codec/decode_chain. Read next: codec/decode_parts.cc.
#include <utility>
#include <vector>

#include "codec/byte_alphabet.h"
#include "codec/decode_parts.h"
#include "codec/decode_step.h"
#include "codec/normalizer.h"
#include "codec/utf8.h"
#include "codec/vocabulary.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// F: void(std::string_view token, DecodeSink& next), G: void(DecodeSink& next).
template <class F, class G>
class FunctionFlow final : public DecodeFlow {
 public:
  FunctionFlow(F f, G g) : f_(std::move(f)), g_(std::move(g)) {}

  void put(std::string_view token, DecodeSink& next) override { f_(token, next); }

  void finish(DecodeSink& next) override { g_(next); }

 private:
  F f_;
  G g_;
};

template <class F, class G>
std::unique_ptr<DecodeFlow> flow(F f, G g) {
  return std::make_unique<FunctionFlow<F, G>>(std::move(f), std::move(g));
}

template <class F>
std::unique_ptr<DecodeFlow> flow(F f) {
  return flow(std::move(f), [](DecodeSink&) {});
}

// What the reference does to spaces before signs and in English contractions.
std::string clean_up(std::string text) {
  constexpr std::string_view kRules[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                            {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                            {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                            {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) {
    text = replace_all(text, from, to);
  }
  return text;
}

class ReplaceStep final : public DecodeStep {
 public:
  ReplaceStep(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  [[nodiscard]] std::optional<std::string> map(std::string_view token) const override {
    return from_.empty() ? std::string(token) : replace_all(token, from_, to_);
  }

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool /*at_start*/, bool fused) const override {
    if (fused && !from_.empty()) {
      return replace_parts(from_, to_);
    }
    return flow([this](std::string_view token, DecodeSink& next) { next.put(*map(token)); });
  }

 private:
  std::string from_, to_;
};

class ReplacePatternStep final : public DecodeStep {
 public:
  ReplacePatternStep(Pattern pattern, std::string to)
      : normalizer_(make_replace_pattern(std::move(pattern), std::move(to))) {}

  [[nodiscard]] std::optional<std::string> map(std::string_view token) const override {
    std::string text(token);
    normalizer_->apply(text);
    return text;
  }

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const override {
    if (fused) {
      return gather_parts(start(at_start, false));
    }
    return flow([this](std::string_view token, DecodeSink& next) { next.put(*map(token)); });
  }

 private:
  NormalizerPtr normalizer_;
};

class ByteLevelStep final : public DecodeStep {
 public:
  [[nodiscard]] std::optional<std::string> map(std::string_view token) const override {
    return from_byte_alphabet(token).value_or(std::string(token));
  }

  [[nodiscard]] bool fuses() const override { return true; }

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const override {
    if (fused) {
      return gather_parts(start(at_start, false));
    }
    return flow([this](std::string_view token, DecodeSink& next) { next.put(*map(token)); });
  }
};

class ByteFallbackStep final : public DecodeStep {
 public:
  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const override {
    if (fused) {
      return gather_parts(start(at_start, false));
    }
    return std::make_unique<Flow>();
  }

 private:
  // One byte that does not fit makes every byte of its run U+FFFD, so a run waits for its end.
  class Flow final : public DecodeFlow {
   public:
    void put(std::string_view token, DecodeSink& next) override {
      const int byte = token.size() == 6 ? parse_byte_token(token) : -1;
      if (byte >= 0) {
        run_ += static_cast<char>(byte);
        return;
      }
      finish(next);
      next.put(token);
    }

    void finish(DecodeSink& next) override {
      if (run_.empty()) {
        return;
      }
      if (is_valid_utf8(run_)) {
        next.put(run_);
      } else {
        for (size_t i = 0; i < run_.size(); ++i) {
          next.put(kReplacement);
        }
      }
      run_.clear();
    }

   private:
    std::string run_;
  };
};

class MetaspaceStep final : public DecodeStep {
 public:
  MetaspaceStep(std::string replacement, bool drops_first)
      : replacement_(std::move(replacement)), drops_first_(drops_first) {}

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const override {
    const bool drops = drops_first_ && at_start;
    if (fused) {
      return replace_parts(replacement_, drops ? "" : " ");
    }
    return flow([this, is_first = drops](std::string_view token, DecodeSink& next) mutable {
      next.put(replace_all(token, replacement_, is_first ? "" : " "));
      is_first = false;
    });
  }

 private:
  std::string replacement_;
  bool drops_first_;
};

class WordPieceStep final : public DecodeStep {
 public:
  WordPieceStep(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const override {
    if (fused) {
      return gather_parts(start(at_start, false));
    }
    return flow([this, is_first = at_start](std::string_view token, DecodeSink& next) mutable {
      std::string text(token);
      if (!is_first) {
        text = token.starts_with(prefix_) ? text.substr(prefix_.size()) : " " + text;
      }
      is_first = false;
      next.put(cleanup_ ? clean_up(std::move(text)) : text);
    });
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class SuffixStep final : public DecodeStep {
 public:
  explicit SuffixStep(std::string suffix) : suffix_(std::move(suffix)) {}

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const override {
    if (fused) {
      return gather_parts(start(at_start, false));
    }
    // A suffix is a blank, but in the last token nothing: one token waits.
    const auto last = std::make_shared<std::optional<std::string>>();
    return flow(
        [this, last](std::string_view token, DecodeSink& next) {
          if (*last) {
            next.put(replace(**last, " "));
          }
          *last = token;
        },
        [this, last](DecodeSink& next) {
          if (*last) {
            next.put(replace(**last, ""));
          }
        });
  }

 private:
  [[nodiscard]] std::string replace(std::string_view token, std::string_view to) const {
    return suffix_.empty() ? std::string(token) : replace_all(token, suffix_, to);
  }

  std::string suffix_;
};

class CtcStep final : public DecodeStep {
 public:
  CtcStep(std::string pad, std::string delimiter, bool cleanup)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool fused) const override {
    if (fused) {
      return gather_parts(start(at_start, false));
    }
    return flow([this, last = std::optional<std::string>()](std::string_view token,
                                                            DecodeSink& next) mutable {
      if (last == token) {
        return;
      }
      last = token;
      std::string text = pad_.empty() ? std::string(token) : replace_all(token, pad_, "");
      if (cleanup_) {
        text = clean_up(std::move(text));
        text = delimiter_.empty() ? text : replace_all(text, delimiter_, " ");
      }
      if (!text.empty()) {
        next.put(text);
      }
    });
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
};

class JoinStep final : public DecodeStep {
 public:
  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool /*fused*/) const override {
    return flow([is_first = at_start](std::string_view token, DecodeSink& next) mutable {
      if (!is_first) {
        next.put(" ");
      }
      is_first = false;
      next.put(token);
    });
  }
};

class FirstBlankStep final : public DecodeStep {
 public:
  FirstBlankStep(bool all, std::string kept) : all_(all), kept_(std::move(kept)) {}

  [[nodiscard]] std::unique_ptr<DecodeFlow> start(bool at_start, bool /*fused*/) const override {
    return flow([this, is_open = at_start](std::string_view token, DecodeSink& next) mutable {
      if (is_open && !token.empty()) {
        const bool has_blank = token[0] == ' ' && token != kept_;
        token.remove_prefix(has_blank ? 1 : 0);
        is_open = token.empty() && all_;
      }
      next.put(token);
    });
  }

 private:
  bool all_;
  std::string kept_;
};

}  // namespace

DecodeStepPtr make_decode_replace(std::string from, std::string to) {
  return std::make_unique<ReplaceStep>(std::move(from), std::move(to));
}

DecodeStepPtr make_decode_replace_pattern(Pattern pattern, std::string to) {
  return std::make_unique<ReplacePatternStep>(std::move(pattern), std::move(to));
}

DecodeStepPtr make_decode_byte_level() {
  return std::make_unique<ByteLevelStep>();
}

DecodeStepPtr make_decode_byte_fallback() {
  return std::make_unique<ByteFallbackStep>();
}

DecodeStepPtr make_decode_metaspace(std::string replacement, bool drops_first) {
  return std::make_unique<MetaspaceStep>(std::move(replacement), drops_first);
}

DecodeStepPtr make_decode_word_piece(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceStep>(std::move(prefix), cleanup);
}

DecodeStepPtr make_decode_suffix(std::string suffix) {
  return std::make_unique<SuffixStep>(std::move(suffix));
}

DecodeStepPtr make_decode_ctc(std::string pad, std::string delimiter, bool cleanup) {
  return std::make_unique<CtcStep>(std::move(pad), std::move(delimiter), cleanup);
}

DecodeStepPtr make_decode_join() {
  return std::make_unique<JoinStep>();
}

DecodeStepPtr make_decode_first_blank(bool all, std::string kept) {
  return std::make_unique<FirstBlankStep>(all, std::move(kept));
}

}  // namespace fathom::codec

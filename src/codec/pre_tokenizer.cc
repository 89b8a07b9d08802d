// The steps of Hugging Face's pre-tokenizers.
// Called by codec/text_tokenizer. Read next: codec/split_stage.cc. Source: each step's published
// description, compared with the reference.
#include "codec/pre_tokenizer.h"

#include <utility>

#include "codec/byte_alphabet.h"
#include "codec/normalizer.h"
#include "codec/unicode.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kWordRegex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class SplitStep final : public PreTokenizerStep {
 public:
  SplitStep(SplitStage stage, SplitBehavior behavior, bool invert)
      : stage_(std::move(stage)), behavior_(behavior), invert_(invert) {}

  void apply(Words& words, bool /*at_start*/) const override {
    std::vector<Stretch> stretches;
    for (const std::string_view word : words.coarser) {
      if (behavior_ == SplitBehavior::kIsolated) {
        stage_.cut(word, words.list);
        continue;
      }
      stage_.find(word, stretches);
      for (Stretch& stretch : stretches) {
        stretch.is_match = stretch.is_match != invert_;
      }
      join_stretches(word, stretches, behavior_, words.list);
    }
  }

 private:
  SplitStage stage_;
  SplitBehavior behavior_;
  bool invert_;
};

// F: bool(char32_t), true for a delimiter.
template <class F>
class CharacterStep final : public PreTokenizerStep {
 public:
  CharacterStep(F is_delimiter, SplitBehavior behavior)
      : is_delimiter_(std::move(is_delimiter)), behavior_(behavior) {}

  void apply(Words& words, bool /*at_start*/) const override {
    std::vector<Stretch> stretches;
    for (const std::string_view word : words.coarser) {
      stretches.clear();
      for (size_t at = 0; at < word.size();) {
        const Utf8Unit unit = read_utf8(word, at);
        const bool is_match = is_delimiter_(unit.character);
        if (!is_match && !stretches.empty() && !stretches.back().is_match) {
          stretches.back().end = at + unit.size;
        } else {
          stretches.push_back({at, at + unit.size, is_match});
        }
        at += unit.size;
      }
      join_stretches(word, stretches, behavior_, words.list);
    }
  }

 private:
  F is_delimiter_;
  SplitBehavior behavior_;
};

class RuleStep final : public PreTokenizerStep {
 public:
  explicit RuleStep(SplitRule rule) : splitter_(rule) {}

  void apply(Words& words, bool /*at_start*/) const override {
    std::vector<std::string_view> pieces;
    for (const std::string_view word : words.coarser) {
      splitter_.split(word, words.list.empty() ? words.list : pieces);
      words.list.insert(words.list.end(), pieces.begin(), pieces.end());
      pieces.clear();
    }
  }

 private:
  PreSplitter splitter_;
};

class FixedLengthStep final : public PreTokenizerStep {
 public:
  explicit FixedLengthStep(size_t n_characters) : n_characters_(n_characters) {}

  void apply(Words& words, bool /*at_start*/) const override {
    for (const std::string_view word : words.coarser) {
      for (size_t begin = 0; begin < word.size();) {
        size_t end = begin;
        for (size_t i = 0; i < n_characters_ && end < word.size(); ++i) {
          end += read_utf8(word, end).size;
        }
        words.list.push_back(word.substr(begin, end - begin));
        begin = end;
      }
    }
  }

 private:
  size_t n_characters_;
};

class ByteLevelStep final : public PreTokenizerStep {
 public:
  explicit ByteLevelStep(const ByteLevelOptions& options) : options_(options), stage_(kWordRegex) {}

  void apply(Words& words, bool /*at_start*/) const override {
    for (std::string_view word : words.coarser) {
      if (options_.add_prefix_space && !word.starts_with(' ')) {
        word = words.respelled.emplace_back(" " + std::string(word));
      }
      if (options_.use_regex) {
        stage_.cut(word, words.list);
      } else {
        words.list.push_back(word);
      }
    }
    if (options_.respell) {
      for (std::string_view& word : words.list) {
        word = words.respelled.emplace_back(to_byte_alphabet(word));
      }
    }
  }

 private:
  ByteLevelOptions options_;
  SplitStage stage_;
};

class MetaspaceStep final : public PreTokenizerStep {
 public:
  MetaspaceStep(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(scheme), split_(split) {}

  void apply(Words& words, bool at_start) const override {
    for (std::string_view word : words.coarser) {
      const bool prepends =
          !starts_with_blank(word) &&
          (scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && at_start));
      at_start = false;
      if (prepends || word.find(' ') != std::string_view::npos) {
        word = words.respelled.emplace_back((prepends ? replacement_ : std::string()) +
                                            replace_all(word, " ", replacement_));
      }
      if (!split_) {
        words.list.push_back(word);
        continue;
      }
      // A replacement joins what follows it, but not another replacement.
      size_t begin = 0;
      for (size_t at = word.find(replacement_); at != std::string_view::npos;
           at = word.find(replacement_, at + replacement_.size())) {
        if (at > begin) {
          words.list.push_back(word.substr(begin, at - begin));
        }
        begin = at;
      }
      words.list.push_back(word.substr(begin));
    }
  }

 private:
  [[nodiscard]] bool starts_with_blank(std::string_view word) const {
    return word.starts_with(replacement_) || word.starts_with(' ');
  }

  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

}  // namespace

void PreTokenizer::split(std::string_view text, bool at_start, Words& words) const {
  words.list.clear();
  words.respelled.clear();
  if (text.empty()) {
    return;
  }
  words.list.push_back(text);
  for (const PreTokenizerStepPtr& step : steps_) {
    std::swap(words.coarser, words.list);
    words.list.clear();
    step->apply(words,
                at_start && !words.coarser.empty() && words.coarser[0].data() == text.data());
  }
}

PreTokenizerStepPtr make_split_step(SplitStage stage, SplitBehavior behavior, bool invert) {
  return std::make_unique<SplitStep>(std::move(stage), behavior, invert);
}

PreTokenizerStepPtr make_character_step(bool (*is_delimiter)(char32_t), SplitBehavior behavior) {
  return std::make_unique<CharacterStep<bool (*)(char32_t)>>(is_delimiter, behavior);
}

PreTokenizerStepPtr make_delimiter_step(char32_t delimiter) {
  const auto is_delimiter = [delimiter](char32_t c) { return c == delimiter; };
  return std::make_unique<CharacterStep<decltype(is_delimiter)>>(is_delimiter,
                                                                 SplitBehavior::kRemoved);
}

PreTokenizerStepPtr make_rule_step(SplitRule rule) {
  return std::make_unique<RuleStep>(rule);
}

PreTokenizerStepPtr make_fixed_length_step(size_t n_characters) {
  return std::make_unique<FixedLengthStep>(n_characters);
}

PreTokenizerStepPtr make_byte_level_step(const ByteLevelOptions& options) {
  return std::make_unique<ByteLevelStep>(options);
}

PreTokenizerStepPtr make_metaspace_step(std::string replacement, PrependScheme scheme, bool split) {
  return std::make_unique<MetaspaceStep>(std::move(replacement), scheme, split);
}

}  // namespace fathom::codec

// How a normalized text becomes words before a model sees it: steps that cut and, some, respell.
// Called by codec/text_tokenizer, built by codec/json_steps and codec/gguf_tokenizer. Read next:
// codec/pre_tokenizer.cc, codec/split_stage.h.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/presplit.h"
#include "codec/split_stage.h"

namespace fathom::codec {

// Words of one text. They point into it or into `respelled`.
struct Words {
  std::vector<std::string_view> list;
  std::vector<std::string_view> coarser;  // what the last step began with
  std::deque<std::string> respelled;
};

class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;

  // Cuts words.coarser into words.list (empty at first). `at_start`: the first word begins where
  // the user's text begins. Thread rule: any thread.
  virtual void apply(Words& words, bool at_start) const = 0;
};

using PreTokenizerStepPtr = std::unique_ptr<const PreTokenizerStep>;

class PreTokenizer {
 public:
  PreTokenizer() = default;

  explicit PreTokenizer(std::vector<PreTokenizerStepPtr> steps) : steps_(std::move(steps)) {}

  // The words of `text`, which must outlive them. Replaces `words`; none is empty.
  void split(std::string_view text, bool at_start, Words& words) const;

 private:
  std::vector<PreTokenizerStepPtr> steps_;
};

PreTokenizerStepPtr make_split_step(SplitStage stage, SplitBehavior behavior, bool invert);

// Cuts at every character that `is_delimiter` names.
PreTokenizerStepPtr make_character_step(bool (*is_delimiter)(char32_t), SplitBehavior behavior);
PreTokenizerStepPtr make_delimiter_step(char32_t delimiter);
PreTokenizerStepPtr make_rule_step(SplitRule rule);
PreTokenizerStepPtr make_fixed_length_step(size_t n_characters);
PreTokenizerStepPtr make_script_step();  // a word has one script; blanks belong to any

struct ByteLevelOptions {
  bool add_prefix_space = false;
  bool use_regex = true;
  bool respell = true;  // false: the model reads raw bytes, so nothing is to be done
};

PreTokenizerStepPtr make_byte_level_step(const ByteLevelOptions& options);

enum class PrependScheme { kFirst, kNever, kAlways };

PreTokenizerStepPtr make_metaspace_step(std::string replacement, PrependScheme scheme, bool split);

}  // namespace fathom::codec

// One expression that cuts texts, and what becomes of its matches and of the gaps between them.
// Called by codec/presplit, codec/pre_tokenizer. Read next: codec/word_rules.h, codec/pattern.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "codec/pattern.h"
#include "codec/word_rules.h"

namespace fathom::codec {

// A stretch of a text that matched something, or the gap between two such.
struct Stretch {
  size_t begin = 0, end = 0;
  bool is_match = false;
};

// What a split makes of its delimiters, by the names of tokenizer.json.
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Adds the pieces of `text` to `pieces`, none of them empty. `stretches` cover the text in order.
void join_stretches(std::string_view text, const std::vector<Stretch>& stretches,
                    SplitBehavior behavior, std::vector<std::string_view>& pieces);

class SplitStage {
 public:
  // Errors: as Pattern. Expressions that codec/word_rules knows run by hand.
  explicit SplitStage(std::string_view regex, PatternOptions options = {});

  // Adds the matches in `text` and the gaps between them to `pieces`. Thread rule: any thread.
  void cut(std::string_view text, std::vector<std::string_view>& pieces) const;

  // Replaces `stretches` by the matches and gaps of `text`; for an empty text by one empty gap.
  void find(std::string_view text, std::vector<Stretch>& stretches) const;

 private:
  std::optional<WordRule> rule_;
  std::optional<Pattern> pattern_;
};

}  // namespace fathom::codec

// Matches by hand-written rule or by PCRE2; the five behaviours are folds over matches and gaps.
// Called by codec/presplit, codec/pre_tokenizer. Source: the behaviour of the reference's splits.
#include "codec/split_stage.h"

#include <algorithm>
#include <utility>

namespace fathom::codec {

namespace {

// A match joins the stretch before it, unless that one is a match as well.
std::vector<Stretch> merge_with_previous(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> merged;
  bool was_match = false;
  for (const Stretch& stretch : stretches) {
    if (stretch.is_match && !was_match && !merged.empty()) {
      merged.back().end = stretch.end;
    } else {
      merged.push_back(stretch);
    }
    was_match = stretch.is_match;
  }
  return merged;
}

std::vector<Stretch> merge_with_next(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> merged;
  bool was_match = false;
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) {
    if (stretch->is_match && !was_match && !merged.empty()) {
      merged.back().begin = stretch->begin;
    } else {
      merged.push_back(*stretch);
    }
    was_match = stretch->is_match;
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

// Matches in a row become one.
std::vector<Stretch> merge_runs(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> merged;
  for (const Stretch& stretch : stretches) {
    if (!merged.empty() && merged.back().is_match == stretch.is_match) {
      merged.back().end = stretch.end;
    } else {
      merged.push_back(stretch);
    }
  }
  return merged;
}

}  // namespace

void join_stretches(std::string_view text, const std::vector<Stretch>& stretches,
                    SplitBehavior behavior, std::vector<std::string_view>& pieces) {
  const auto add = [&](const std::vector<Stretch>& parts) {
    for (const Stretch& part : parts) {
      const bool is_removed = behavior == SplitBehavior::kRemoved && part.is_match;
      if (!is_removed && part.end > part.begin) {
        pieces.push_back(text.substr(part.begin, part.end - part.begin));
      }
    }
  };
  switch (behavior) {
    case SplitBehavior::kIsolated:
    case SplitBehavior::kRemoved:
      return add(stretches);
    case SplitBehavior::kMergedWithPrevious:
      return add(merge_with_previous(stretches));
    case SplitBehavior::kMergedWithNext:
      return add(merge_with_next(stretches));
    case SplitBehavior::kContiguous:
      return add(merge_runs(stretches));
  }
}

SplitStage::SplitStage(std::string_view regex, PatternOptions options)
    : rule_(options.by_bytes ? std::nullopt : find_word_rule(regex)) {
  if (!rule_) {
    pattern_.emplace(regex, options);
  }
}

void SplitStage::cut(std::string_view text, std::vector<std::string_view>& pieces) const {
  if (rule_) {
    cut_words(*rule_, text, pieces);
    return;
  }
  size_t done = 0;
  Pattern::Walk walk(*pattern_, text);
  while (const auto match = walk.next()) {
    if (match->begin > done) {
      pieces.push_back(text.substr(done, match->begin - done));
    }
    if (match->end > match->begin) {
      pieces.push_back(text.substr(match->begin, match->end - match->begin));
    }
    done = match->end;
  }
  if (done < text.size()) {
    pieces.push_back(text.substr(done));
  }
}

void SplitStage::find(std::string_view text, std::vector<Stretch>& stretches) const {
  stretches.clear();
  if (text.empty()) {
    stretches.push_back({});
    return;
  }
  if (rule_) {
    std::vector<std::string_view> words;
    cut_words(*rule_, text, words);
    for (const std::string_view word : words) {
      const auto begin = static_cast<size_t>(word.data() - text.data());
      stretches.push_back({begin, begin + word.size(), true});
    }
    return;
  }
  size_t done = 0;
  Pattern::Walk walk(*pattern_, text);
  while (const auto match = walk.next()) {
    if (match->begin > done) {
      stretches.push_back({done, match->begin, false});
    }
    stretches.push_back({match->begin, match->end, true});
    done = match->end;
  }
  if (done < text.size()) {
    stretches.push_back({done, text.size(), false});
  }
}

}  // namespace fathom::codec

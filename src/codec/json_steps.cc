// A pre-tokenizer's name to its steps.
// Called by codec/tokenizer_json. Read next: codec/json_decoders.cc. Source: the tokenizer.json
// format as Hugging Face tokenizers reads it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "codec/json_normalizers.h"
#include "codec/unicode.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

// What WhitespaceSplit's cousin Whitespace matches: words, and runs of signs.
constexpr std::string_view kWhitespaceRegex =
    R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"
    R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}]+|)"
    R"([^\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"
    R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}\s]+)";

class Reader {
 public:
  explicit Reader(ReadSteps& read) : read_(read), steps_(read.steps) {}

  // `is_last`: nothing after it needs respelled words. Gives whether respelling was left out.
  bool read(const JsonPart& part, bool is_last) {
    const std::string type = part.get_text("type");
    if (type == "Sequence") {
      const auto& items = part.get("pretokenizers").items();
      bool left_out = false;
      for (size_t i = 0; i < items.size(); ++i) {
        left_out = read(items[i], is_last && i + 1 == items.size()) || left_out;
      }
      return left_out;
    }
    if (type == "ByteLevel") {
      return read_byte_level(part, is_last);
    }
    read_plain(part, type);
    return false;
  }

 private:
  bool read_byte_level(const JsonPart& part, bool is_last) {
    const ByteLevelOptions options{.add_prefix_space = part.flag_or("add_prefix_space", true),
                                   .use_regex = part.flag_or("use_regex", true),
                                   .respell = !is_last};
    read_.keeps_text = read_.keeps_text && is_last && !options.add_prefix_space;
    if (options.add_prefix_space || options.use_regex || options.respell) {
      steps_.push_back(make_byte_level_step(options));
    }
    return is_last;
  }

  void read_plain(const JsonPart& part, const std::string& type) {
    const JsonPart* how = part.find("behavior");
    const bool is_cut = type == "Digits" || type == "FixedLength" ||
                        ((type == "Split" || type == "Punctuation") &&
                         (how == nullptr || how->text() != "Removed"));
    read_.keeps_text = read_.keeps_text && is_cut;
    if (type == "Split") {
      read_split(part);
    } else if (type == "Metaspace") {
      read_metaspace(part);
    } else if (type == "Digits") {
      const bool one_by_one = part.flag_or("individual_digits", false);
      steps_.push_back(make_character_step(
          is_number, one_by_one ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
    } else if (type == "Punctuation") {
      const JsonPart* behavior = part.find("behavior");
      steps_.push_back(make_character_step(
          is_punctuation, behavior ? read_behavior(*behavior) : SplitBehavior::kIsolated));
    } else if (type == "BertPreTokenizer") {
      steps_.push_back(make_character_step(is_white_space, SplitBehavior::kRemoved));
      steps_.push_back(make_character_step(is_punctuation, SplitBehavior::kIsolated));
    } else if (type == "Whitespace") {
      steps_.push_back(
          make_split_step(SplitStage(kWhitespaceRegex), SplitBehavior::kRemoved, true));
    } else if (type == "WhitespaceSplit") {
      steps_.push_back(make_character_step(is_white_space, SplitBehavior::kRemoved));
    } else if (type == "CharDelimiterSplit") {
      steps_.push_back(make_delimiter_step(read_character(part.get("delimiter"))));
    } else if (type == "UnicodeScripts") {
      steps_.push_back(make_script_step());
    } else if (type == "FixedLength") {
      const JsonPart* length = part.find("length");
      const int64_t n = length != nullptr ? length->count(1 << 20) : 5;
      steps_.push_back(make_fixed_length_step(static_cast<size_t>(std::max<int64_t>(n, 1))));
    } else {
      part.refuse_kind(fmt::format("the pre-tokenizer '{}' is not known", type));
    }
  }

  static SplitBehavior read_behavior(const JsonPart& part) {
    constexpr auto kNames = std::to_array<std::pair<std::string_view, SplitBehavior>>({
        {"Isolated", SplitBehavior::kIsolated},
        {"Removed", SplitBehavior::kRemoved},
        {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
        {"MergedWithNext", SplitBehavior::kMergedWithNext},
        {"Contiguous", SplitBehavior::kContiguous},
    });
    for (const auto& [name, behavior] : kNames) {
      if (part.text() == name) {
        return behavior;
      }
    }
    part.refuse_kind(fmt::format("the split behavior '{}' is not known", part.text()));
  }

  void read_split(const JsonPart& part) {
    const JsonPart& pattern = part.get("pattern");
    const SplitBehavior behavior = read_behavior(part.get("behavior"));
    const bool invert = part.flag_or("invert", false);
    const auto regex =
        pattern.type() == JsonPart::Type::kText ? std::nullopt : pattern.find_text("Regex");
    SplitStage stage = regex ? SplitStage(*regex, {.is_foreign = true, .where = part.where()})
                             : SplitStage(read_pattern(pattern).regex());
    steps_.push_back(make_split_step(std::move(stage), behavior, invert));
  }

  void read_metaspace(const JsonPart& part) {
    const char32_t replacement = read_character(part.get("replacement"));
    std::string text;
    append_utf8(text, replacement);
    const std::string scheme = part.find_text("prepend_scheme").value_or("always");
    PrependScheme prepends = PrependScheme::kAlways;
    if (scheme == "first") {
      prepends = PrependScheme::kFirst;
    } else if (scheme == "never" || !part.flag_or("add_prefix_space", true)) {
      prepends = PrependScheme::kNever;
    } else if (scheme != "always") {
      part.refuse_kind(fmt::format("the prepend scheme '{}' is not known", scheme));
    }
    steps_.push_back(make_metaspace_step(text, prepends, part.flag_or("split", true)));
  }

  ReadSteps& read_;
  std::vector<PreTokenizerStepPtr>& steps_;
};

}  // namespace

ReadSteps read_pre_tokenizer(const JsonPart& part, bool may_leave_respelling) {
  ReadSteps read;
  if (!part.is_null()) {
    read.byte_level_words = Reader(read).read(part, may_leave_respelling);
  }
  return read;
}

}  // namespace fathom::codec

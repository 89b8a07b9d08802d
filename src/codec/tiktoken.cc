// A pair merges when its bytes together have a rank: that is byte-pair encoding with a rule for
// every way to cut an entry in two.
// Called by codec/tokenizer_files. Read next: codec/bpe.cc. Source: the reference library's
// published encodings, r50k_base to o200k_base.
#include "codec/tiktoken.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "codec/base64.h"
#include "codec/bpe.h"
#include "codec/byte_alphabet.h"
#include "codec/json_part.h"

namespace fathom::codec {

namespace {

constexpr int64_t kMostIds = int64_t{1} << 24;
constexpr size_t kLongestCut = 512;  // entries longer than this are found whole only

constexpr std::string_view kWords =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLines =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|)"
    R"(\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
constexpr std::string_view kCase =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Published {
  size_t n_ranks;
  std::string_view pattern;
  std::array<std::pair<std::string_view, int64_t>, 5> special_tokens;  // "" for none
};

constexpr Published kPublished[] = {
    {50256, kWords, {{{"<|endoftext|>", 50256}}}},
    {50280, kWords, {{{"<|endoftext|>", 50256}}}},
    {100256,
     kLines,
     {{{"<|endoftext|>", 100257},
       {"<|fim_prefix|>", 100258},
       {"<|fim_middle|>", 100259},
       {"<|fim_suffix|>", 100260},
       {"<|endofprompt|>", 100276}}}},
    {199998, kCase, {{{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}}},
};

TiktokenSettings find_published(size_t n_ranks, std::string_view path) {
  for (const Published& published : kPublished) {
    if (published.n_ranks != n_ranks) {
      continue;
    }
    TiktokenSettings settings;
    settings.pattern = published.pattern;
    for (const auto& [text, id] : published.special_tokens) {
      if (!text.empty()) {
        settings.special_tokens.emplace_back(text, id);
      }
    }
    return settings;
  }
  fail(ErrorCode::kUnsupported,
       fmt::format(
           "{}: a file with {} ranks is none of the known encodings (50256, 50280, 100256 or "
           "199998 ranks); put a tiktoken.json with pat_str and special_tokens beside it",
           path, n_ranks));
}

// Entries in the order of the file: bytes and rank.
std::vector<std::pair<std::string, int64_t>> read_ranks(std::string_view text,
                                                        std::string_view path) {
  std::vector<std::pair<std::string, int64_t>> ranks;
  size_t line_number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty()) {
      continue;
    }
    const size_t blank = line.find(' ');
    const auto bytes =
        blank == std::string_view::npos ? std::nullopt : decode_base64(line.substr(0, blank));
    int64_t rank = -1;
    const std::string_view digits = bytes ? line.substr(blank + 1) : std::string_view();
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    const bool is_good = bytes && !bytes->empty() && error == std::errc() &&
                         last == digits.data() + digits.size() && rank >= 0 && rank < kMostIds;
    if (!is_good) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: line {} is '{}'; expected base64, a blank and a rank below {}", path,
                       line_number, line.substr(0, 60), kMostIds));
    }
    ranks.emplace_back(*bytes, rank);
  }
  return ranks;
}

void fill_vocabulary(const std::vector<std::pair<std::string, int64_t>>& ranks,
                     const TiktokenSettings& settings, std::string_view path,
                     Vocabulary& vocabulary) {
  const auto put = [&](int64_t id, std::string text, TokenKind kind) {
    const auto i = static_cast<size_t>(id);
    if (i >= vocabulary.texts.size()) {
      vocabulary.texts.resize(i + 1);
      vocabulary.kinds.resize(i + 1, TokenKind::kUnused);
    }
    if (vocabulary.kinds[i] != TokenKind::kUnused) {
      fail(ErrorCode::kCorruptFile, fmt::format("{}: the rank {} stands twice", path, id));
    }
    vocabulary.texts[i] = std::move(text);
    vocabulary.kinds[i] = kind;
  };
  vocabulary.texts.reserve(ranks.size());
  for (const auto& [bytes, rank] : ranks) {
    put(rank, to_byte_alphabet(bytes), TokenKind::kNormal);
  }
  for (const auto& [text, id] : settings.special_tokens) {
    put(id, text, TokenKind::kControl);
  }
}

// A rule for every way to cut an entry into two entries; its rank is the entry's id.
MergeTable make_merges(const std::vector<std::pair<std::string, int64_t>>& ranks,
                       const PieceIndex& index) {
  size_t n_cuts = 0;
  for (const auto& [bytes, rank] : ranks) {
    n_cuts += std::min(bytes.size(), kLongestCut) - 1;
  }
  MergeTable merges(n_cuts);
  std::vector<PieceKey> keys;  // of the beginnings and the ends of an entry
  for (const auto& [bytes, rank] : ranks) {
    const std::string_view text = index.texts()[static_cast<size_t>(rank)];
    keys.clear();
    for (size_t cut = 1; cut < text.size() && bytes.size() <= kLongestCut; ++cut) {
      if ((static_cast<unsigned char>(text[cut]) & 0xC0u) == 0x80) {
        continue;  // inside a letter of the byte alphabet
      }
      keys.push_back(key_of(text.substr(0, cut)));
      keys.push_back(key_of(text.substr(cut)));
      index.prefetch(keys[keys.size() - 2]);
      index.prefetch(keys.back());
    }
    size_t i = 0;
    for (size_t cut = 1; i < keys.size(); ++cut) {
      if ((static_cast<unsigned char>(text[cut]) & 0xC0u) == 0x80) {
        continue;
      }
      const TokenId left = index.find(text.substr(0, cut), keys[i]);
      const TokenId right = left < 0 ? -1 : index.find(text.substr(cut), keys[i + 1]);
      i += 2;
      if (right >= 0) {
        merges.insert(left, right, {static_cast<uint32_t>(rank), static_cast<TokenId>(rank)});
      }
    }
  }
  return merges;
}

}  // namespace

TiktokenSettings read_tiktoken_settings(std::string_view json, std::string_view path) {
  const JsonPart part = JsonPart::parse(json, std::string(path));
  TiktokenSettings settings;
  settings.pattern = part.get_text("pat_str");
  if (const JsonPart* tokens = part.find("special_tokens")) {
    for (const auto& [text, id] : tokens->fields()) {
      settings.special_tokens.emplace_back(text, id.count(kMostIds - 1));
    }
  }
  settings.bos_token = part.find_text("bos_token").value_or("");
  const std::string normalizer = part.find_text("normalizer").value_or("");
  settings.nfc = normalizer == "NFC";
  if (!normalizer.empty() && !settings.nfc) {
    part.get("normalizer").refuse_kind(fmt::format("the normalizer '{}' is not known", normalizer));
  }
  return settings;
}

bool is_tiktoken(std::string_view text) {
  const std::string_view line = text.substr(0, std::min<size_t>(text.find('\n'), 1000));
  const size_t blank = line.find(' ');
  return blank != std::string_view::npos && blank > 0 && blank + 1 < line.size() &&
         decode_base64(line.substr(0, blank)).has_value() && line[blank + 1] >= '0' &&
         line[blank + 1] <= '9';
}

Pipeline read_tiktoken(std::string_view text, std::string_view path,
                       const std::optional<TiktokenSettings>& settings) {
  const auto ranks = read_ranks(text, path);
  const TiktokenSettings used = settings ? *settings : find_published(ranks.size(), path);
  Pipeline pipeline;
  pipeline.path = path;
  pipeline.vocabulary = std::make_unique<Vocabulary>();
  Vocabulary& vocabulary = *pipeline.vocabulary;
  fill_vocabulary(ranks, used, path, vocabulary);
  vocabulary.model = "tiktoken";
  PieceIndex index(vocabulary.texts);
  for (const auto& [bytes, rank] : ranks) {
    index.insert(static_cast<TokenId>(rank));
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!index.find(to_byte_alphabet(std::string(1, static_cast<char>(byte))))) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: the byte {:#04x} has no rank; expected all 256", path, byte));
    }
  }
  MergeTable merges = make_merges(ranks, index);
  pipeline.model = std::make_unique<BpeModel>(
      std::move(index), std::move(merges), BpeOptions{.byte_level = true, .ignore_merges = true});
  if (used.nfc) {
    pipeline.normalizer = make_form_normalizer(NormalForm::kNfc);
  }
  std::vector<PreTokenizerStepPtr> steps;
  steps.push_back(make_split_step(SplitStage(used.pattern), SplitBehavior::kIsolated, false));
  pipeline.pre_tokenizer = PreTokenizer(std::move(steps));
  for (const auto& [special, id] : used.special_tokens) {
    pipeline.added.push_back({.id = static_cast<TokenId>(id), .text = special, .is_control = true});
    if (special == used.bos_token) {
      vocabulary.bos = static_cast<TokenId>(id);
      vocabulary.add_bos = true;
      pipeline.prefix.push_back(*vocabulary.bos);
    }
    if (special == "<|endoftext|>" || special == "<|end_of_text|>") {
      vocabulary.eos = static_cast<TokenId>(id);
    }
  }
  pipeline.keeps_text = true;
  pipeline.decode_steps.push_back(make_decode_byte_level());
  pipeline.decode_steps.push_back(make_decode_repair(false));
  return pipeline;
}

}  // namespace fathom::codec

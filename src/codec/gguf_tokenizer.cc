// One function a tokenizer model. What the format leaves out comes from codec/gguf_fixups.
// Called by codec/tokenizer. Read next: codec/text_tokenizer.cc. Source: the GGUF specification,
// "Tokenizer"; each family's tokenizer.json, compared id by id with the reference.
#include "codec/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "codec/bpe.h"
#include "codec/byte_alphabet.h"
#include "codec/gguf_fixups.h"
#include "codec/merge_builder.h"
#include "codec/piece_texts.h"
#include "codec/sentencepiece.h"
#include "codec/unicode.h"
#include "codec/unigram.h"
#include "codec/vocabulary.h"
#include "codec/word_piece.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kCharmapKey = "tokenizer.ggml.precompiled_charsmap";
constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581

std::vector<AddedToken> list_added_tokens(const weights::Metadata& metadata,
                                          const Vocabulary& vocabulary) {
  std::vector<AddedToken> tokens;
  for (size_t i = 0; i < vocabulary.texts.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenKind kind = vocabulary.kinds[i];
    const bool is_unknown = kind == TokenKind::kUnknown && vocabulary.unk == id;
    if (kind != TokenKind::kControl && kind != TokenKind::kUserDefined && !is_unknown) {
      continue;
    }
    const std::string& text = vocabulary.texts[i];
    const bool is_user_defined = kind == TokenKind::kUserDefined;
    const bool is_marker = is_user_defined && is_markup(text) && is_in_templates(vocabulary, text);
    tokens.push_back({.id = id,
                      .text = text,
                      .is_control = !is_user_defined,
                      .is_marker = is_marker,
                      .strips_left = strips_left(metadata, text),
                      .strips_right = strips_right(metadata, text, kind)});
  }
  return tokens;
}

// BOS and EOS where the vocabulary's flags ask for them.
void set_template(Pipeline& pipeline) {
  const Vocabulary& vocabulary = *pipeline.vocabulary;
  if (vocabulary.add_bos && vocabulary.bos) {
    pipeline.prefix.push_back(*vocabulary.bos);
  }
  if (vocabulary.add_eos && vocabulary.eos) {
    pipeline.suffix.push_back(*vocabulary.eos);
  }
}

MergeTable read_merges(const weights::Metadata& metadata, const PieceIndex& index) {
  const auto* merges = metadata.find_strings(kMergesKey);
  if (merges == nullptr) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key '{}' is missing; a byte-pair vocabulary cannot do without",
                     metadata.path(), kMergesKey));
  }
  const auto fail_merge = [&](size_t rank, std::string_view what) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key '{}': entry {} is '{}': {}", metadata.path(), kMergesKey, rank,
                     std::string_view((*merges)[rank]).substr(0, 80), what));
  };
  MergeOptions options;
  options.on_missing = [&](size_t rank, std::string_view missing) {
    fail_merge(rank, fmt::format("the piece '{}' is not in 'tokenizer.ggml.tokens'", missing));
  };
  MergeRules rules;
  rules.reserve(merges->size());
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    const std::string_view merge = (*merges)[rank];
    const size_t blank = merge.find(' ', 1);
    if (blank == std::string_view::npos || blank + 1 == merge.size()) {
      fail_merge(rank, "expected two pieces with one blank between them");
    }
    rules.push_back({merge.substr(0, blank), merge.substr(blank + 1)});
  }
  return make_merge_table(index, rules, options);
}

// How a pipeline decodes its entries.
using EntryText = void (*)(const Vocabulary& vocabulary, size_t id, std::string& out);

DecodeChain::AppendText texts_of(const Pipeline& pipeline, EntryText append) {
  return [vocabulary = pipeline.vocabulary.get(), append](size_t id, std::string& out) {
    append(*vocabulary, id, out);
  };
}

// User-defined entries are stored raw. Where such a text happens to consist of letters of the byte
// alphabet ("ü"), it is spelled in that alphabet, so that decoding gives it back.
void append_byte_level_text(const Vocabulary& vocabulary, size_t id, std::string& out) {
  const std::string& text = vocabulary.texts[id];
  const bool is_raw = vocabulary.kinds[id] == TokenKind::kUserDefined &&
                      std::any_of(text.begin(), text.end(), [](char c) { return c < 0; });
  out += is_raw ? to_byte_alphabet(text) : text;
}

Pipeline make_byte_level(const weights::Metadata& metadata) {
  const GgufPreTokenizer& pre = find_pre_tokenizer(metadata);
  Pipeline pipeline;
  pipeline.vocabulary = std::make_unique<Vocabulary>(read_vocabulary(metadata));
  Vocabulary& vocabulary = *pipeline.vocabulary;
  const bool says_bos = metadata.contains("tokenizer.ggml.add_bos_token");
  vocabulary.add_bos = says_bos ? vocabulary.add_bos : pre.add_bos;
  vocabulary.add_space_prefix = false;  // some files set it; the byte-level reference has none
  PieceIndex index =
      index_pieces(vocabulary, [](TokenKind kind) { return kind != TokenKind::kControl; });
  MergeTable merges = read_merges(metadata, index);
  auto model = std::make_unique<BpeModel>(
      std::move(index), std::move(merges),
      BpeOptions{.byte_level = true, .ignore_merges = pre.ignore_merges});
  pipeline.keeps_text = model->has_all_bytes();
  pipeline.model = std::move(model);
  if (pre.nfc) {
    pipeline.normalizer = make_form_normalizer(NormalForm::kNfc);
  }
  std::vector<PreTokenizerStepPtr> steps;
  steps.push_back(make_rule_step(pre.split));
  pipeline.pre_tokenizer = PreTokenizer(std::move(steps));
  pipeline.decode_text = texts_of(pipeline, append_byte_level_text);
  pipeline.decode_steps.push_back(make_decode_byte_level());
  pipeline.decode_steps.push_back(make_decode_repair(false));
  return pipeline;
}

// A blank for U+2581, and the dummy prefix before every fragment of the text.
NormalizerPtr make_blank_normalizer(bool add_prefix) {
  std::vector<NormalizerPtr> steps;
  if (add_prefix) {
    steps.push_back(make_prepend(std::string(kBlank)));
  }
  steps.push_back(make_replace_text(" ", std::string(kBlank)));
  return make_sequence(std::move(steps));
}

Pipeline make_sentencepiece(const weights::Metadata& metadata) {
  Pipeline pipeline;
  pipeline.vocabulary = std::make_unique<Vocabulary>(read_vocabulary(metadata));
  Vocabulary& vocabulary = *pipeline.vocabulary;
  const bool says_bos = metadata.contains("tokenizer.ggml.add_bos_token");
  vocabulary.add_bos = says_bos ? vocabulary.add_bos : true;
  const bool says_prefix = metadata.contains("tokenizer.ggml.add_space_prefix");
  vocabulary.add_space_prefix = says_prefix ? vocabulary.add_space_prefix : true;
  auto model = std::make_unique<SentencePieceModel>(vocabulary, metadata.path(),
                                                    SentencePieceModel::Options{});
  // A user-defined token cuts the text, and the part after it gets a dummy prefix of its own.
  const bool has_cuts = std::find(vocabulary.kinds.begin(), vocabulary.kinds.end(),
                                  TokenKind::kUserDefined) != vocabulary.kinds.end();
  pipeline.keeps_text = model->spells_all() && !(has_cuts && vocabulary.add_space_prefix);
  pipeline.model = std::move(model);
  pipeline.normalizer = make_blank_normalizer(vocabulary.add_space_prefix);
  pipeline.decode_text = texts_of(pipeline, append_piece_text);
  pipeline.decode_steps.push_back(make_decode_repair(false));
  if (vocabulary.add_space_prefix) {
    pipeline.decode_steps.push_back(make_decode_first_blank(false));
  }
  return pipeline;
}

Charmap read_charmap(const weights::Metadata& metadata) {
  const auto* bytes = metadata.find_ints(kCharmapKey);
  if (bytes == nullptr || bytes->empty()) {
    return {};
  }
  std::string blob;
  blob.reserve(bytes->size());
  for (const int64_t byte : *bytes) {
    if (byte < -128 || byte > 255) {
      fail(ErrorCode::kCorruptFile, fmt::format("{}: key '{}': entry {} is {}, expected a byte",
                                                metadata.path(), kCharmapKey, blob.size(), byte));
    }
    blob += static_cast<char>(byte);
  }
  return Charmap(blob, fmt::format("{}: key '{}'", metadata.path(), kCharmapKey));
}

Pipeline make_unigram(const weights::Metadata& metadata) {
  Pipeline pipeline;
  pipeline.vocabulary = std::make_unique<Vocabulary>(read_vocabulary(metadata));
  Vocabulary& vocabulary = *pipeline.vocabulary;
  const bool says_eos = metadata.contains("tokenizer.ggml.add_eos_token");
  vocabulary.add_eos = says_eos ? vocabulary.add_eos : true;
  const bool says_prefix = metadata.contains("tokenizer.ggml.add_space_prefix");
  vocabulary.add_space_prefix = says_prefix ? vocabulary.add_space_prefix : true;
  PieceNormalizerOptions normalizer;
  normalizer.charmap = read_charmap(metadata);
  normalizer.add_dummy_prefix = vocabulary.add_space_prefix;
  normalizer.remove_extra_blanks =
      metadata.find_bool("tokenizer.ggml.remove_extra_whitespaces").value_or(false);
  std::vector<bool> is_piece;
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const TokenKind kind = vocabulary.kinds[id];
    is_piece.push_back(kind == TokenKind::kNormal || kind == TokenKind::kUserDefined);
    if (kind == TokenKind::kUserDefined) {
      normalizer.protected_texts.push_back(vocabulary.texts[id]);
    }
  }
  const bool has_bytes = std::find(vocabulary.kinds.begin(), vocabulary.kinds.end(),
                                   TokenKind::kByte) != vocabulary.kinds.end();
  const bool removes_blanks = normalizer.remove_extra_blanks;
  pipeline.model = std::make_unique<UnigramModel>(
      vocabulary, std::move(is_piece), metadata.path(),
      UnigramModel::Options{
          .unk = vocabulary.unk, .byte_fallback = has_bytes, .rates_user_defined = true});
  pipeline.normalizer = make_piece_normalizer(std::move(normalizer));
  pipeline.decode_text = texts_of(pipeline, append_piece_text);
  pipeline.decode_steps.push_back(make_decode_first_blank(removes_blanks));
  pipeline.decode_steps.push_back(make_decode_repair(true));
  return pipeline;
}

// Pieces inside a word get back the "##" that the format leaves out, words lose their U+2581.
void append_word_piece_text(const Vocabulary& vocabulary, size_t id, std::string& out) {
  const std::string_view text = vocabulary.texts[id];
  if (text.starts_with(kBlank)) {
    out += text.substr(kBlank.size());
  } else {
    out.append(vocabulary.kinds[id] == TokenKind::kNormal ? "##" : "").append(text);
  }
}

// A file does not say whether its model knows capital letters; its pieces do.
bool has_capitals(const Vocabulary& vocabulary) {
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const std::string& text = vocabulary.texts[id];
    if (vocabulary.kinds[id] == TokenKind::kNormal && text.starts_with(kBlank) &&
        std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      return true;
    }
  }
  return false;
}

Pipeline make_word_piece(const weights::Metadata& metadata) {
  Pipeline pipeline;
  pipeline.vocabulary = std::make_unique<Vocabulary>(read_vocabulary(metadata));
  Vocabulary& vocabulary = *pipeline.vocabulary;
  PieceIndex index =
      index_pieces(vocabulary, [](TokenKind kind) { return kind == TokenKind::kNormal; });
  pipeline.model = std::make_unique<WordPieceModel>(
      std::move(index),
      WordPieceOptions{
          .unk = vocabulary.unk, .continuing_prefix = {}, .first_prefix = std::string(kBlank)});
  const bool lowers = !has_capitals(vocabulary);
  pipeline.normalizer = make_bert_normalizer({.strip_accents = lowers, .lowercase = lowers});
  std::vector<PreTokenizerStepPtr> steps;
  steps.push_back(make_character_step(is_white_space, SplitBehavior::kRemoved));
  steps.push_back(make_character_step(is_punctuation, SplitBehavior::kIsolated));
  pipeline.pre_tokenizer = PreTokenizer(std::move(steps));
  const auto around = [&](std::string_view key, std::optional<TokenId> other,
                          std::vector<TokenId>& out) {
    const auto id = read_token_id(metadata, key, vocabulary.texts.size());
    if (id || other) {
      out.push_back(id ? *id : *other);
    }
  };
  around("tokenizer.ggml.cls_token_id", vocabulary.bos, pipeline.prefix);
  around("tokenizer.ggml.seperator_token_id", vocabulary.eos, pipeline.suffix);
  pipeline.decode_text = texts_of(pipeline, append_word_piece_text);
  pipeline.decode_steps.push_back(make_decode_word_piece("##", true));
  return pipeline;
}

}  // namespace

Pipeline make_gguf_pipeline(const weights::Metadata& metadata) {
  const TokenizerModel model = find_model(metadata);
  Pipeline pipeline;
  switch (model) {
    case TokenizerModel::kByteLevelBpe:
      pipeline = make_byte_level(metadata);
      break;
    case TokenizerModel::kSentencePieceBpe:
      pipeline = make_sentencepiece(metadata);
      break;
    case TokenizerModel::kUnigram:
      pipeline = make_unigram(metadata);
      break;
    case TokenizerModel::kWordPiece:
      pipeline = make_word_piece(metadata);
      break;
  }
  pipeline.path = metadata.path();
  pipeline.added = list_added_tokens(metadata, *pipeline.vocabulary);
  if (model == TokenizerModel::kUnigram) {
    // Its user-defined pieces are the model's own affair.
    std::erase_if(pipeline.added, [](const AddedToken& token) { return !token.is_control; });
  }
  if (model != TokenizerModel::kWordPiece) {
    set_template(pipeline);
  }
  return pipeline;
}

}  // namespace fathom::codec

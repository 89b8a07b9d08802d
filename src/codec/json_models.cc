// Vocabulary and merges to ids: the part of a tokenizer.json that is large.
// Called by codec/tokenizer_json. Read next: codec/merge_builder.cc, codec/bpe.cc.
#include "codec/json_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "codec/bpe.h"
#include "codec/byte_alphabet.h"
#include "codec/merge_builder.h"
#include "codec/unigram.h"
#include "codec/vocabulary.h"
#include "codec/word_piece.h"

namespace fathom::codec {

namespace {

// Ids above this are no vocabulary but a broken file: published ones have a few hundred thousand.
constexpr int64_t kMostIds = int64_t{1} << 24;

[[noreturn]] void refuse(const JsonModel& model, std::string_view what) {
  fail(ErrorCode::kCorruptFile, fmt::format("{}: {}", model.where, what));
}

PieceIndex index_texts(const Vocabulary& vocabulary) {
  return index_pieces(vocabulary, [](TokenKind kind) { return kind != TokenKind::kUnused; });
}

// The id of "unk_token". The reference looks it up when it meets something unknown; a file whose
// unknown token is not in its vocabulary can answer most texts, so it is no error before that.
std::optional<TokenId> find_unk(const JsonModel& model, const PieceIndex& index) {
  return model.unk_token ? index.find(*model.unk_token) : std::nullopt;
}

MergeTable read_merges(const JsonModel& model, const PieceIndex& index) {
  MergeOptions options;
  options.continuing_prefix = model.continuing_prefix.size();
  options.last_wins = true;
  options.on_missing = [&](size_t rank, std::string_view missing) {
    const auto& [left, right] = model.merges[rank];
    refuse(model, fmt::format("merge {} is '{}' + '{}', but the piece '{}' is not in 'vocab'", rank,
                              left.substr(0, 40), right.substr(0, 40), missing.substr(0, 80)));
  };
  return make_merge_table(index, model.merges, options);
}

std::unique_ptr<const PieceModel> make_bpe(const JsonModel& model, const Vocabulary& vocabulary,
                                           bool byte_level) {
  if (!model.has_merges) {
    refuse(model, "key 'merges' is missing; a byte-pair vocabulary cannot do without");
  }
  if (model.dropout != 0) {
    fail(ErrorCode::kUnsupported,
         fmt::format(
             "{}: 'dropout' is {}: such a tokenizer gives other ids each time; expected null "
             "or 0",
             model.where, model.dropout));
  }
  PieceIndex index = index_texts(vocabulary);
  MergeTable merges = read_merges(model, index);
  BpeOptions options{.byte_level = byte_level,
                     .ignore_merges = model.ignore_merges,
                     .byte_fallback = model.byte_fallback,
                     .fuse_unk = model.fuse_unk,
                     .unk = find_unk(model, index),
                     .continuing_prefix = model.continuing_prefix,
                     .end_suffix = model.end_suffix};
  if (model.unk_token && !options.unk) {
    options.missing_unk = *model.unk_token;
  }
  return std::make_unique<BpeModel>(std::move(index), std::move(merges), std::move(options));
}

std::unique_ptr<const PieceModel> make_unigram(const JsonModel& model,
                                               const Vocabulary& vocabulary) {
  UnigramModel::Options options;
  if (model.unk_id) {
    if (*model.unk_id < 0 || *model.unk_id >= static_cast<int64_t>(vocabulary.texts.size())) {
      refuse(model, fmt::format("'unk_id' is {}, expected 0 to {}", *model.unk_id,
                                vocabulary.texts.size() - 1));
    }
    options.unk = static_cast<TokenId>(*model.unk_id);
  }
  options.byte_fallback = model.byte_fallback;
  std::vector<bool> is_piece;
  for (const TokenKind kind : vocabulary.kinds) {
    is_piece.push_back(kind != TokenKind::kUnused);
  }
  return std::make_unique<UnigramModel>(vocabulary, std::move(is_piece), model.where, options);
}

std::unique_ptr<const PieceModel> make_words(const JsonModel& model, const Vocabulary& vocabulary) {
  PieceIndex index = index_texts(vocabulary);
  WordPieceOptions options;
  options.unk = find_unk(model, index);
  options.whole_words = model.type == "WordLevel";
  options.continuing_prefix = model.continuing_prefix;
  options.most_characters = static_cast<size_t>(std::max<int64_t>(0, model.most_characters));
  return std::make_unique<WordPieceModel>(std::move(index), std::move(options));
}

}  // namespace

void name_model(JsonModel& model) {
  if (model.type.empty()) {
    model.type = model.vocab_is_list ? "Unigram" : model.has_merges ? "BPE" : "WordPiece";
  }
  if (model.type != "BPE" && model.type != "Unigram" && model.type != "WordPiece" &&
      model.type != "WordLevel") {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: the model '{}' is not known; known are BPE, Unigram, WordPiece and "
                     "WordLevel",
                     model.where, model.type));
  }
  if (model.vocab_is_list != (model.type == "Unigram")) {
    refuse(model, fmt::format("'vocab' of a {} model is {}", model.type,
                              model.vocab_is_list ? "a list, expected an object of ids"
                                                  : "an object, expected a list of scores"));
  }
}

void fill_vocabulary(const JsonModel& model, Vocabulary& vocabulary) {
  int64_t n_ids = static_cast<int64_t>(model.vocab.size());
  for (const JsonModel::Entry& entry : model.vocab) {
    if (entry.id < 0 || entry.id >= kMostIds) {
      refuse(model, fmt::format("'vocab': '{}' has the id {}, expected 0 to {}",
                                entry.text.substr(0, 40), entry.id, kMostIds - 1));
    }
    n_ids = std::max(n_ids, entry.id + 1);
  }
  const auto n = static_cast<size_t>(n_ids);
  vocabulary.model = model.type;
  vocabulary.texts.resize(n);
  vocabulary.kinds.assign(n, TokenKind::kUnused);
  vocabulary.scores.resize(model.vocab_is_list ? n : 0);
  for (const JsonModel::Entry& entry : model.vocab) {
    const auto id = static_cast<size_t>(entry.id);
    if (vocabulary.kinds[id] != TokenKind::kUnused) {
      refuse(model, fmt::format("'vocab': the id {} stands for '{}' and for '{}'", id,
                                std::string_view(vocabulary.texts[id]).substr(0, 40),
                                entry.text.substr(0, 40)));
    }
    vocabulary.texts[id] = entry.text;
    const bool is_byte = model.byte_fallback && parse_byte_token(entry.text) >= 0;
    vocabulary.kinds[id] = is_byte ? TokenKind::kByte : TokenKind::kNormal;
    if (model.vocab_is_list) {
      vocabulary.scores[id] = static_cast<float>(entry.score);
    }
  }
}

bool has_all_bytes(const JsonModel& model) {
  size_t n_bytes = 0;  // entries of one character of the byte alphabet
  for (const JsonModel::Entry& entry : model.vocab) {
    if (!entry.text.empty() && entry.text.size() <= 2) {
      const auto bytes = from_byte_alphabet(entry.text);
      n_bytes += bytes && bytes->size() == 1 ? 1 : 0;
    }
  }
  return n_bytes == 256;
}

bool can_read_bytes(const JsonModel& model) {
  return model.type == "BPE" && model.continuing_prefix.empty() && model.end_suffix.empty() &&
         !model.byte_fallback && (!model.unk_token || has_all_bytes(model));
}

std::unique_ptr<const PieceModel> make_json_model(const JsonModel& model,
                                                  const Vocabulary& vocabulary, bool byte_level) {
  if (model.type == "BPE") {
    return make_bpe(model, vocabulary, byte_level);
  }
  return model.type == "Unigram" ? make_unigram(model, vocabulary) : make_words(model, vocabulary);
}

}  // namespace fathom::codec

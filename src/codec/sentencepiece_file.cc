// Field numbers to pieces and settings; then the same stages as for a GGUF file, but with what only
// the model file says.
// Called by codec/tokenizer_files. Read next: codec/sentencepiece.cc, codec/unigram.cc. Source:
// SentencePiece, sentencepiece_model.proto.
#include "codec/sentencepiece_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codec/piece_texts.h"
#include "codec/sentencepiece.h"
#include "codec/unigram.h"
#include "codec/utf8.h"
#include "codec/vocabulary.h"
#include "codec/wire_reader.h"

namespace fathom::codec {

namespace {

enum ModelType : uint64_t { kUnigramType = 1, kBpeType = 2, kWordType = 3, kCharType = 4 };

// What the file says, with SentencePiece's values for what it leaves out.
struct ModelProto {
  uint64_t type = kUnigramType;
  bool byte_fallback = false;
  bool blank_as_suffix = false;
  int64_t unk = 0, bos = 1, eos = 2, pad = -1;
  std::string unk_surface = " \xE2\x81\x87 ";
  std::string_view charmap;
  bool add_dummy_prefix = true;
  bool remove_extra_blanks = true;
  bool escape_blanks = true;
  bool has_denormalizer = false;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view path, Vocabulary& vocabulary)
      : bytes_(bytes), path_(path), vocabulary_(vocabulary) {}

  ModelProto read() {
    WireReader reader(bytes_, path_);
    while (const auto field = reader.next()) {
      if (field->type != WireField::Type::kBytes) {
        continue;
      }
      const size_t offset = reader.offset_of(*field);
      switch (field->number) {
        case 1:
          read_piece(field->bytes, offset);
          break;
        case 2:
          read_trainer(field->bytes, offset);
          break;
        case 3:
          read_normalizer(field->bytes, offset);
          break;
        case 5:
          read_denormalizer(field->bytes, offset);
          break;
        default:
          break;  // self-test data
      }
    }
    if (vocabulary_.texts.empty()) {
      refuse("no pieces; expected a SentencePiece model");
    }
    return proto_;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorCode::kCorruptFile, fmt::format("{}: {}", path_, what));
  }

  void read_piece(std::string_view message, size_t offset) {
    const size_t id = vocabulary_.texts.size();
    std::string_view text;
    float score = 0;
    uint64_t kind = 1;
    WireReader reader(message, path_, offset);
    while (const auto field = reader.next()) {
      if (field->number == 1) {
        text = field->bytes;
      } else if (field->number == 2) {
        score = field->as_float();
      } else if (field->number == 3) {
        kind = field->integer;
      }
    }
    if (text.empty() || !is_valid_utf8(text)) {
      refuse(fmt::format("piece {} is {}", id, text.empty() ? "empty" : "not valid UTF-8"));
    }
    if (kind < 1 || kind > 6 || std::isnan(score)) {
      refuse(
          fmt::format("piece {} ('{}') has the kind {} and the score {}; expected a kind from 1 to "
                      "6 and a number",
                      id, text.substr(0, 40), kind, score));
    }
    if (kind == static_cast<uint64_t>(TokenKind::kByte) && parse_byte_token(text) < 0) {
      refuse(fmt::format("piece {} is '{}', a byte piece; expected <0x00> to <0xFF>", id,
                         text.substr(0, 40)));
    }
    vocabulary_.texts.emplace_back(text);
    vocabulary_.scores.push_back(score);
    vocabulary_.kinds.push_back(static_cast<TokenKind>(kind));
  }

  void read_trainer(std::string_view message, size_t offset) {
    WireReader reader(message, path_, offset);
    while (const auto field = reader.next()) {
      switch (field->number) {
        case 3:
          proto_.type = field->integer;
          break;
        case 24:
          proto_.blank_as_suffix = field->integer != 0;
          break;
        case 35:
          proto_.byte_fallback = field->integer != 0;
          break;
        case 40:
          proto_.unk = static_cast<int32_t>(field->integer);
          break;
        case 41:
          proto_.bos = static_cast<int32_t>(field->integer);
          break;
        case 42:
          proto_.eos = static_cast<int32_t>(field->integer);
          break;
        case 43:
          proto_.pad = static_cast<int32_t>(field->integer);
          break;
        case 44:
          proto_.unk_surface = field->bytes;
          break;
        default:
          break;
      }
    }
  }

  void read_normalizer(std::string_view message, size_t offset) {
    WireReader reader(message, path_, offset);
    while (const auto field = reader.next()) {
      switch (field->number) {
        case 2:
          proto_.charmap = field->bytes;
          break;
        case 3:
          proto_.add_dummy_prefix = field->integer != 0;
          break;
        case 4:
          proto_.remove_extra_blanks = field->integer != 0;
          break;
        case 5:
          proto_.escape_blanks = field->integer != 0;
          break;
        default:
          break;
      }
    }
  }

  void read_denormalizer(std::string_view message, size_t offset) {
    WireReader reader(message, path_, offset);
    while (const auto field = reader.next()) {
      proto_.has_denormalizer =
          proto_.has_denormalizer || (field->number == 2 && !field->bytes.empty());
    }
  }

  std::string_view bytes_;
  std::string path_;
  Vocabulary& vocabulary_;
  ModelProto proto_;
};

// An id of the trainer's settings; negative: there is none. A vocabulary may have been cut or
// renumbered after training, so the piece's kind has the last word.
std::optional<TokenId> find_id(const Vocabulary& vocabulary, int64_t id) {
  if (id < 0 || id >= static_cast<int64_t>(vocabulary.texts.size())) {
    return std::nullopt;
  }
  return static_cast<TokenId>(id);
}

void set_ids(const ModelProto& proto, Vocabulary& vocabulary) {
  vocabulary.bos = find_id(vocabulary, proto.bos);
  vocabulary.eos = find_id(vocabulary, proto.eos);
  vocabulary.pad = find_id(vocabulary, proto.pad);
  const auto unknown =
      std::find(vocabulary.kinds.begin(), vocabulary.kinds.end(), TokenKind::kUnknown);
  if (unknown != vocabulary.kinds.end()) {
    vocabulary.unk = static_cast<TokenId>(unknown - vocabulary.kinds.begin());
  }
  // A model without BOS was trained to see where a text ends (T5 and its kin).
  vocabulary.add_bos = vocabulary.bos.has_value();
  vocabulary.add_eos = !vocabulary.bos && vocabulary.eos;
  vocabulary.add_space_prefix = proto.add_dummy_prefix;
}

std::unique_ptr<const PieceModel> make_model(const ModelProto& proto, const Vocabulary& vocabulary,
                                             std::string_view path) {
  if (proto.type == kBpeType) {
    return std::make_unique<SentencePieceModel>(
        vocabulary, path, SentencePieceModel::Options{.freezes_user_defined = true});
  }
  if (proto.type != kUnigramType) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: found the model type {} ({}), supported are 1 (unigram) and 2 (bpe)",
                     path, proto.type,
                     proto.type == kWordType   ? "word"
                     : proto.type == kCharType ? "char"
                                               : "unknown"));
  }
  std::vector<bool> is_piece;
  for (const TokenKind kind : vocabulary.kinds) {
    is_piece.push_back(kind == TokenKind::kNormal || kind == TokenKind::kUserDefined);
  }
  return std::make_unique<UnigramModel>(
      vocabulary, std::move(is_piece), path,
      UnigramModel::Options{.unk = vocabulary.unk,
                            .byte_fallback = proto.byte_fallback,
                            .rates_user_defined = true,
                            .cuts_at_blanks = proto.escape_blanks});
}

}  // namespace

Pipeline read_sentencepiece_model(std::string_view bytes, std::string_view path) {
  Pipeline pipeline;
  pipeline.path = path;
  pipeline.vocabulary = std::make_unique<Vocabulary>();
  Vocabulary& vocabulary = *pipeline.vocabulary;
  const ModelProto proto = Reader(bytes, path, vocabulary).read();
  vocabulary.model = proto.type == kBpeType ? "SentencePiece BPE" : "SentencePiece Unigram";
  set_ids(proto, vocabulary);
  if (proto.has_denormalizer) {
    fail(ErrorCode::kUnsupported, fmt::format("{}: the model has a denormalizer", path));
  }
  pipeline.model = make_model(proto, vocabulary, path);
  PieceNormalizerOptions normalizer;
  if (!proto.charmap.empty()) {
    normalizer.charmap = Charmap(proto.charmap, fmt::format("{}: precompiled_charsmap", path));
  }
  normalizer.add_dummy_prefix = proto.add_dummy_prefix;
  normalizer.remove_extra_blanks = proto.remove_extra_blanks;
  normalizer.escape_blanks = proto.escape_blanks;
  normalizer.blank_as_suffix = proto.blank_as_suffix;
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const TokenKind kind = vocabulary.kinds[id];
    if (kind == TokenKind::kUserDefined) {
      normalizer.protected_texts.push_back(vocabulary.texts[id]);
    } else if (kind == TokenKind::kControl) {
      pipeline.added.push_back(
          {.id = static_cast<TokenId>(id), .text = vocabulary.texts[id], .is_control = true});
    }
  }
  pipeline.normalizer = make_piece_normalizer(std::move(normalizer));
  if (vocabulary.add_bos) {
    pipeline.prefix.push_back(*vocabulary.bos);
  }
  if (vocabulary.add_eos) {
    pipeline.suffix.push_back(*vocabulary.eos);
  }
  pipeline.decode_text = [&vocabulary, surface = proto.unk_surface](size_t id, std::string& out) {
    if (vocabulary.unk && id == static_cast<size_t>(*vocabulary.unk)) {
      out += surface;
    } else {
      append_piece_text(vocabulary, id, out);
    }
  };
  pipeline.shows_unknown = vocabulary.unk.has_value();
  if (proto.add_dummy_prefix || proto.remove_extra_blanks) {
    pipeline.decode_steps.push_back(
        make_decode_first_blank(proto.remove_extra_blanks, proto.unk_surface));
  }
  pipeline.decode_steps.push_back(make_decode_repair(true));
  return pipeline;
}

}  // namespace fathom::codec

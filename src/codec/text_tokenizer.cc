// Encode: repair, cut at added tokens, hand the rest to the merging algorithm. Decode: bytes in a
// row. Called by codec/bpe, codec/sentencepiece. Read next: codec/added_tokens.cc.
#include "codec/text_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "codec/gguf_fixups.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

// Control tokens that end an answer, whatever the keys of the file say.
constexpr std::string_view kEndMarkers[] = {
    "<|im_end|>",    "<|eot_id|>",      "<|eom_id|>", "<end_of_turn>",
    "<|endoftext|>", "<|end_of_text|>", "<|end|>",    "<｜end▁of▁sentence｜>"};

// In files with this token, "<|end|>" ends a message and not the answer.
constexpr std::string_view kReturnMarker = "<|return|>";

// Brackets around a name: what a template may mean as structure. Runs of line
// ends or blanks, which some vocabularies define too, are not.
bool is_markup(std::string_view text) {
  return text.size() > 2 && ((text.front() == '<' && text.back() == '>') ||
                             (text.front() == '[' && text.back() == ']'));
}

PieceIndex index_texts(const std::vector<std::string>& texts) {
  PieceIndex index(texts.size());
  for (size_t id = 0; id < texts.size(); ++id) {
    if (!texts[id].empty()) {
      index.insert(texts[id], static_cast<TokenId>(id));
    }
  }
  return index;
}

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
    const bool is_user_defined = kind == TokenKind::kUserDefined;
    const bool is_written = vocabulary.chat_template.find(vocabulary.texts[i]) != std::string::npos;
    tokens.push_back({.id = id,
                      .text = vocabulary.texts[i],
                      .is_control = !is_user_defined,
                      .is_marker = is_user_defined && is_written && is_markup(vocabulary.texts[i]),
                      .strips_right = strips_right(metadata, vocabulary.texts[i], kind)});
  }
  return tokens;
}

}  // namespace

TextTokenizer::TextTokenizer(const weights::Metadata& metadata, Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)),
      index_(index_texts(vocabulary_.texts)),
      added_(list_added_tokens(metadata, vocabulary_)) {}

std::vector<TokenId> TextTokenizer::encode(std::string_view text,
                                           const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  if (options.add_special && vocabulary_.add_bos && vocabulary_.bos) {
    ids.push_back(*vocabulary_.bos);
  }
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = replace_invalid_utf8(text);
    text = repaired;
  }
  for (const Fragment& fragment : added_.split(text, options)) {
    if (fragment.id >= 0) {
      ids.push_back(fragment.id);
    } else {
      encode_text(fragment.text, ids);
    }
  }
  if (options.add_special && vocabulary_.add_eos && vocabulary_.eos) {
    ids.push_back(*vocabulary_.eos);
  }
  return ids;
}

std::string TextTokenizer::bytes_of(TokenId id, bool special) const {
  if (id < 0 || static_cast<size_t>(id) >= vocabulary_.texts.size()) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("token id {} is not in the vocabulary; expected 0 to {}", id,
                     vocabulary_.texts.size() - 1));
  }
  const TokenKind kind = kind_of(id);
  const bool is_control = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
  if (is_control) {
    return special ? text_of(id) : std::string();
  }
  return piece_bytes(id);
}

std::string TextTokenizer::decode(std::span<const TokenId> ids, bool special) const {
  std::string bytes;
  for (const TokenId id : ids) {
    bytes += bytes_of(id, special);
  }
  const std::string_view text(bytes);
  const bool drop = strips_first_blank() && text.starts_with(' ');
  return replace_invalid_utf8(text.substr(drop ? 1 : 0));
}

std::vector<TokenId> TextTokenizer::end_tokens() const {
  std::vector<TokenId> ids;
  const auto add = [&](std::optional<TokenId> id) {
    if (id && std::find(ids.begin(), ids.end(), *id) == ids.end()) {
      ids.push_back(*id);
    }
  };
  add(vocabulary_.eos);
  add(vocabulary_.eot);
  add(vocabulary_.eom);
  for (const std::string_view marker : kEndMarkers) {
    const std::optional<TokenId> id = find(marker);
    const bool ends_message_only = marker == "<|end|>" && find(kReturnMarker).has_value();
    if (id && kind_of(*id) == TokenKind::kControl && !ends_message_only) {
      add(id);
    }
  }
  return ids;
}

std::optional<TokenId> TextTokenizer::find(std::string_view stored_text) const {
  return index_.find(stored_text);
}

}  // namespace fathom::codec

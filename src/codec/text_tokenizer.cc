// Encode: repair, cut at added tokens, normalize, cut into words, hand each word to the model.
// Decode: ids through the steps of the decoder.
// Called by api, apps/tokenize. Read next: codec/added_tokens.cc, codec/bpe.cc.
#include "codec/text_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "codec/utf8.h"
#include "codec/vocabulary.h"

namespace fathom::codec {

namespace {

// Control tokens that end an answer, whatever the keys of the file say.
constexpr std::string_view kEndMarkers[] = {
    "<|im_end|>",    "<|eot_id|>",      "<|eom_id|>", "<end_of_turn>",
    "<|endoftext|>", "<|end_of_text|>", "<|end|>",    "<｜end▁of▁sentence｜>"};

// In files with this token, "<|end|>" ends a message and not the answer.
constexpr std::string_view kReturnMarker = "<|return|>";

// The tokens that are matched in the raw or in the normalized text; the latter are normalized too.
std::vector<AddedToken> select_tokens(const Pipeline& pipeline, bool normalized) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : pipeline.added) {
    if (token.normalized == normalized) {
      tokens.push_back(token);
      if (normalized && pipeline.normalizer != nullptr) {
        pipeline.normalizer->apply(tokens.back().text);
      }
    }
  }
  return tokens;
}

// The text with U+FFFD for what is no UTF-8, and the ranges moved along.
std::string repair(std::string_view text, std::span<const PlainRange> plain,
                   std::vector<PlainRange>& moved) {
  std::string out;
  size_t done = 0;
  for (const PlainRange& range : plain) {
    const size_t begin = std::clamp(range.begin, done, text.size());
    const size_t end = std::clamp(range.end, begin, text.size());
    out += replace_invalid_utf8(text.substr(done, begin - done));
    const size_t moved_begin = out.size();
    out += replace_invalid_utf8(text.substr(begin, end - begin));
    moved.push_back({moved_begin, out.size()});
    done = end;
  }
  return out += replace_invalid_utf8(text.substr(done));
}

}  // namespace

// One encode call.
class TextTokenizer::Encoder {
 public:
  Encoder(const TextTokenizer& tokenizer, const EncodeOptions& options, std::vector<TokenId>& out)
      : tokenizer_(tokenizer),
        pipeline_(tokenizer.pipeline_),
        options_(options),
        run_(pipeline_.model->start()),
        out_(out) {}

  // `text` is valid UTF-8.
  void add(std::string_view text) {
    if (tokenizer_.raw_.is_empty()) {
      add_plain(text, 0);
      return;
    }
    for (const Fragment& fragment : tokenizer_.raw_.split(text, options_)) {
      if (fragment.id >= 0) {
        out_.push_back(fragment.id);
      } else {
        add_plain(fragment.text, static_cast<size_t>(fragment.text.data() - text.data()));
      }
    }
  }

  [[nodiscard]] uint64_t n_steps() const { return run_->n_steps(); }

 private:
  // A fragment without tokens that are matched in the raw text; `begin` is its place there.
  void add_plain(std::string_view text, size_t begin) {
    std::string_view normal = text;
    if (pipeline_.normalizer != nullptr) {
      normalized_.assign(text);
      pipeline_.normalizer->apply(normalized_);
      normal = normalized_;
    }
    if (tokenizer_.normalized_.is_empty()) {
      add_words(normal, begin == 0);
      return;
    }
    std::vector<PlainRange> plain;
    for (const PlainRange& range : options_.plain) {
      if (range.begin < begin + text.size() && begin < range.end) {
        // Places of a changed text are not known: then all of it counts as plain.
        const bool same = normal == text;
        plain.push_back(same ? PlainRange{std::max(range.begin, begin) - begin, range.end - begin}
                             : PlainRange{0, normal.size()});
      }
    }
    EncodeOptions options = options_;
    options.plain = plain;
    for (const Fragment& fragment : tokenizer_.normalized_.split(normal, options)) {
      if (fragment.id >= 0) {
        out_.push_back(fragment.id);
      } else {
        add_words(fragment.text, begin == 0 && fragment.text.data() == normal.data());
      }
    }
  }

  void add_words(std::string_view text, bool at_start) {
    pipeline_.pre_tokenizer.split(text, at_start, words_);
    for (const std::string_view word : words_.list) {
      run_->add(word, out_);
    }
  }

  const TextTokenizer& tokenizer_;
  const Pipeline& pipeline_;
  const EncodeOptions& options_;
  std::unique_ptr<PieceModel::Run> run_;
  std::vector<TokenId>& out_;
  std::string normalized_;
  Words words_;
};

TextTokenizer::TextTokenizer(Pipeline pipeline)
    : pipeline_(std::move(pipeline)),
      raw_(select_tokens(pipeline_, false)),
      normalized_(select_tokens(pipeline_, true)),
      decode_steps_(std::move(pipeline_.decode_steps)) {}

std::vector<TokenId> TextTokenizer::encode(std::string_view text,
                                           const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 4 + 8);
  if (options.add_special) {
    ids = pipeline_.prefix;
  }
  std::string repaired;
  std::vector<PlainRange> moved;
  EncodeOptions used = options;
  if (!is_valid_utf8(text)) {
    repaired = repair(text, options.plain, moved);
    text = repaired;
    used.plain = moved;
  }
  Encoder(*this, used, ids).add(text);
  if (options.one_bos && vocabulary().bos) {
    size_t n_bos = 0;
    while (n_bos < ids.size() && ids[n_bos] == *vocabulary().bos) {
      ++n_bos;
    }
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n_bos > 1 ? n_bos - 1 : 0));
  }
  if (options.add_special) {
    ids.insert(ids.end(), pipeline_.suffix.begin(), pipeline_.suffix.end());
  }
  return ids;
}

uint64_t TextTokenizer::count_steps(std::string_view text) const {
  std::vector<TokenId> ids;
  const EncodeOptions options;
  Encoder encoder(*this, options, ids);
  encoder.add(text);
  return encoder.n_steps();
}

const DecodeChain& TextTokenizer::chain() const {
  std::call_once(chain_once_, [&] {
    // The texts of added tokens that are matched in the normalized text are normalized as well.
    std::unordered_map<size_t, std::string> normalized;
    for (const AddedToken& token : pipeline_.added) {
      if (token.normalized && pipeline_.normalizer != nullptr) {
        std::string& text = normalized[static_cast<size_t>(token.id)];
        text = token.text;
        pipeline_.normalizer->apply(text);
      }
    }
    const auto append_text = [&](size_t id, std::string& out) {
      const auto found = normalized.empty() ? normalized.end() : normalized.find(id);
      if (found != normalized.end()) {
        out += found->second;
      } else if (pipeline_.decode_text) {
        pipeline_.decode_text(id, out);
      } else {
        out += vocabulary().texts[id];
      }
    };
    chain_ = std::make_unique<const DecodeChain>(std::move(decode_steps_),
                                                 vocabulary().texts.size(), append_text);
  });
  return *chain_;
}

void TextTokenizer::check_id(TokenId id) const {
  if (id < 0 || static_cast<size_t>(id) >= vocabulary().texts.size()) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("token id {} is not in the vocabulary; expected 0 to {}", id,
                     vocabulary().texts.size() - 1));
  }
}

std::string TextTokenizer::bytes_of(TokenId id, bool special) const {
  check_id(id);
  const auto i = static_cast<size_t>(id);
  if (is_hidden(id)) {
    return special ? vocabulary().texts[i] : std::string();
  }
  if (vocabulary().kinds[i] == TokenKind::kByte) {
    return std::string(1, static_cast<char>(parse_byte_token(vocabulary().texts[i])));
  }
  return chain().bytes_of(id);
}

class TextTokenizer::Stream final : public DecodeStream {
 public:
  Stream(const TextTokenizer& tokenizer, bool special, bool at_start)
      : tokenizer_(tokenizer), special_(special), flow_(tokenizer.chain(), at_start) {}

  void push(TokenId id, std::string& out) override {
    tokenizer_.check_id(id);
    if (special_ || !tokenizer_.is_hidden(id)) {
      flow_.push(id, out);
    }
  }

  void finish(std::string& out) override { flow_.finish(out); }

 private:
  const TextTokenizer& tokenizer_;
  bool special_;
  DecodeChain::Flow flow_;
};

std::unique_ptr<DecodeStream> TextTokenizer::start_decoding(bool special, bool at_start) const {
  return std::make_unique<Stream>(*this, special, at_start);
}

std::string TextTokenizer::decode(std::span<const TokenId> ids, bool special) const {
  std::string text;
  text.reserve(ids.size() * 5);
  Stream stream(*this, special, true);
  for (const TokenId id : ids) {
    stream.push(id, text);
  }
  stream.finish(text);
  return text;
}

std::vector<TokenId> TextTokenizer::end_tokens() const {
  std::vector<TokenId> ids;
  const auto add = [&](std::optional<TokenId> id) {
    if (id && std::find(ids.begin(), ids.end(), *id) == ids.end()) {
      ids.push_back(*id);
    }
  };
  add(vocabulary().eos);
  add(vocabulary().eot);
  add(vocabulary().eom);
  for (const TokenId id : vocabulary().more_ends) {
    add(id);
  }
  for (const std::string_view marker : kEndMarkers) {
    const std::optional<TokenId> id = find(marker);
    const bool ends_message_only = marker == "<|end|>" && find(kReturnMarker).has_value();
    if (id && vocabulary().kinds[static_cast<size_t>(*id)] == TokenKind::kControl &&
        !ends_message_only) {
      add(id);
    }
  }
  return ids;
}

std::optional<TokenId> TextTokenizer::find(std::string_view stored_text) const {
  if (const auto id = pipeline_.model->find(stored_text)) {
    return id;
  }
  const std::vector<std::string>& texts = vocabulary().texts;
  const auto found = std::find(texts.begin(), texts.end(), stored_text);
  return found == texts.end() ? std::nullopt
                              : std::optional(static_cast<TokenId>(found - texts.begin()));
}

}  // namespace fathom::codec

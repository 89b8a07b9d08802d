// What happens to a text before it is cut: one small class a step, in the order of the file.
// Called by codec/text_tokenizer, built by codec/json_normalizers and codec/gguf_tokenizer.
// Read next: codec/normalizer.cc, codec/normal_form.h, codec/charmap.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/charmap.h"
#include "codec/normal_form.h"
#include "codec/pattern.h"

namespace fathom::codec {

class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // Changes `text`, valid UTF-8 before and after. Thread rule: any thread.
  virtual void apply(std::string& text) const = 0;
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

NormalizerPtr make_form_normalizer(NormalForm form);
NormalizerPtr make_lowercase();
NormalizerPtr make_strip(bool left, bool right);  // white space at the ends
NormalizerPtr make_strip_accents();
NormalizerPtr make_prepend(std::string prefix);  // before every text that is not empty
NormalizerPtr make_replace_text(std::string from, std::string to);
NormalizerPtr make_replace_pattern(Pattern pattern, std::string to);
NormalizerPtr make_nmt();         // controls go, odd blanks become blanks
NormalizerPtr make_byte_level();  // every byte becomes its character of the byte alphabet
NormalizerPtr make_charmap_by_cluster(Charmap charmap);
NormalizerPtr make_sequence(std::vector<NormalizerPtr> steps);

struct BertOptions {
  bool clean_text = true;
  bool split_cjk = true;
  bool strip_accents = true;
  bool lowercase = true;
};

NormalizerPtr make_bert_normalizer(const BertOptions& options);

// As SentencePiece normalizes: character map (longest prefix), blanks joined, U+2581 for blanks.
struct PieceNormalizerOptions {
  Charmap charmap = {};                           // empty: texts stay as they are
  std::vector<std::string> protected_texts = {};  // user-defined symbols: not changed
  bool add_dummy_prefix = true;
  bool remove_extra_blanks = false;
  bool escape_blanks = true;
  bool blank_as_suffix = false;
};

NormalizerPtr make_piece_normalizer(PieceNormalizerOptions options);

// Every `from` (not empty) of `text` becomes `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace fathom::codec

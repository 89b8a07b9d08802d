// The model of a tokenizer.json: what the file says, and the model made from it.
// Called by codec/tokenizer_json. Read next: codec/json_models.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/huge_allocator.h"
#include "codec/merge_builder.h"
#include "codec/piece_model.h"
#include "codec/tokenizer.h"

namespace fathom::codec {

// The "model" object. Texts lie in the file or its scanner and stay until they go.
struct JsonModel {
  struct Entry {
    std::string_view text;
    int64_t id = 0;    // of an object
    double score = 0;  // of a list, whose place is the id
  };

  std::string where;  // "FILE: model"
  std::string type;   // "BPE", "Unigram", "WordPiece", "WordLevel"; "" when the file has none
  bool vocab_is_list = false;
  std::vector<Entry, HugeAllocator<Entry>> vocab;
  bool has_merges = false;
  MergeRules merges;

  std::optional<std::string> unk_token;
  std::optional<int64_t> unk_id;
  std::string continuing_prefix, end_suffix;
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
  double dropout = 0;
  int64_t most_characters = 100;
};

// Names the kind of model by its fields where the file leaves it out. Error: kUnsupported.
void name_model(JsonModel& model);

// Fills texts, scores and kinds (kNormal, kByte) of `vocabulary`. [largest id + 1] entries; an id
// that no entry has gets an empty text. Errors: kCorruptFile for ids out of range or used twice.
void fill_vocabulary(const JsonModel& model, Vocabulary& vocabulary);

// Whether the vocabulary has all letters of the byte alphabet.
bool has_all_bytes(const JsonModel& model);

// Whether a byte-level model may read raw bytes: nothing depends on the spelling of words.
bool can_read_bytes(const JsonModel& model);

// The model over `vocabulary`, which must outlive it. `byte_level`: words are raw bytes. Errors:
// kCorruptFile (merges of unknown pieces, unknown token not in the vocabulary), kUnsupported.
std::unique_ptr<const PieceModel> make_json_model(const JsonModel& model,
                                                  const Vocabulary& vocabulary, bool byte_level);

}  // namespace fathom::codec

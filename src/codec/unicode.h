// Kinds of characters, as the reference tokenizers see them (their Unicode versions, not ours).
// Called by codec/splitter, codec/pre_tokenizer, codec/normalizer. Read next: codec/splitter.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::codec {

// General category, in the order of Unicode's own table; kNone: not assigned.
enum class Category : uint8_t {
  kNone,
  kLu,
  kLl,
  kLt,
  kLm,
  kLo,
  kMn,
  kMc,
  kMe,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPs,
  kPe,
  kPi,
  kPf,
  kPo,
  kSm,
  kSc,
  kSk,
  kSo,
  kZs,
  kZl,
  kZp,
  kCc,
  kCf,
  kCo,
};

// What the split rules ask of a character, as bits that can be tested together.
enum CharBits : uint8_t {
  kBitUpper = 1,     // Lu, Lt
  kBitLower = 2,     // Ll
  kBitCaseless = 4,  // Lm, Lo
  kBitMark = 8,      // M
  kBitNumber = 16,   // N
  kBitSpace = 32,    // White_Space
  kBitLine = 64,     // \r and \n, beside kBitSpace
  kBitSign = 128,    // P, S
};

constexpr uint8_t kBitsLetter = kBitUpper | kBitLower | kBitCaseless;

// All kinds of all characters, ready to look up. One object for the whole program.
class CharTable {
 public:
  static const CharTable& get();

  [[nodiscard]] uint8_t bits(char32_t c) const { return bits_[cell_of(c)]; }

  [[nodiscard]] Category category(char32_t c) const { return categories_[cell_of(c)]; }

  // Bits of a character of one byte.
  [[nodiscard]] uint8_t ascii_bits(unsigned char c) const { return ascii_[c]; }

 private:
  CharTable();

  [[nodiscard]] size_t cell_of(char32_t c) const {
    return c < 0x110000 ? size_t{blocks_[c >> 7]} * 128 + (c & 127) : 0;
  }

  std::array<uint16_t, 0x110000 / 128> blocks_{};  // block of 128 characters to stored block
  std::vector<uint8_t> bits_;
  std::vector<Category> categories_;
  std::array<uint8_t, 128> ascii_{};
};

bool is_white_space(char32_t c);     // the property White_Space
bool is_number(char32_t c);          // N
bool is_word_character(char32_t c);  // \w of Rust's regular expressions
// The kinds that the reference's BERT parts use come from Unicode 8: newer characters have none.
bool is_punctuation(char32_t c);  // P, and the signs of ASCII
bool is_accent(char32_t c);       // M, what StripAccents drops
bool is_flat_accent(char32_t c);  // Mn, what the BERT normalizer drops
bool is_bert_control(char32_t c);
bool is_cjk(char32_t c);  // ideographs that are words of their own to BERT

// Adds the lower-case form, one or two characters.
void append_lower(std::string& out, char32_t c);

// Where the white space that begins at `at` ends, and where the one that ends at `end` begins (not
// before `floor`). `text` is valid UTF-8.
size_t skip_white_space(std::string_view text, size_t at);
size_t skip_white_space_back(std::string_view text, size_t floor, size_t end);

// Where the character that ends at `end` (> 0) begins.
size_t character_start(std::string_view text, size_t end);

}  // namespace fathom::codec

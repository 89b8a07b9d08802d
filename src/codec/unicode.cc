// Runs are spread over blocks of 128 characters; equal blocks are stored once.
// Called by codec/splitter, codec/pre_tokenizer, codec/normalizer. Source: UAX 44.
#include "codec/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <map>
#include <span>

#include "codec/unicode_tables.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

constexpr char32_t kEndOfUnicode = 0x110000;

uint8_t bits_of(char32_t c, Category category) {
  uint8_t bits = 0;
  if (is_white_space(c)) {
    bits |= kBitSpace;
  }
  if (c == '\r' || c == '\n') {
    bits |= kBitLine;
  }
  const auto within = [&](Category first, Category last) {
    return category >= first && category <= last;
  };
  if (category == Category::kLu || category == Category::kLt) {
    bits |= kBitUpper;
  } else if (category == Category::kLl) {
    bits |= kBitLower;
  } else if (category == Category::kLm || category == Category::kLo) {
    bits |= kBitCaseless;
  } else if (within(Category::kMn, Category::kMe)) {
    bits |= kBitMark;
  } else if (within(Category::kNd, Category::kNo)) {
    bits |= kBitNumber;
  } else if (within(Category::kPc, Category::kSo)) {
    bits |= kBitSign;
  }
  return bits;
}

// The kind of `c` in a list of runs.
uint8_t kind_in(std::span<const uint32_t> runs, char32_t c) {
  const auto next = std::upper_bound(runs.begin(), runs.end(), (uint32_t{c} << 8) | 0xFF);
  return static_cast<uint8_t>(*(next - 1) & 0xFF);
}

enum BertKind : uint8_t { kPunctuation = 1, kAccent = 2, kFlatAccent = 4, kControl = 8 };

bool is_bert_kind(char32_t c, BertKind kind) {
  return (kind_in(bert_kind_runs(), c) & kind) != 0;
}

}  // namespace

const CharTable& CharTable::get() {
  static const CharTable kTable;
  return kTable;
}

CharTable::CharTable() {
  std::map<std::array<Category, 128>, uint16_t> stored;
  const std::span<const uint32_t> runs = category_runs();
  size_t run = 0;
  std::array<Category, 128> block{};
  for (char32_t first = 0; first < kEndOfUnicode; first += 128) {
    for (char32_t i = 0; i < 128; ++i) {
      while (run + 1 < runs.size() && (runs[run + 1] >> 8) <= first + i) {
        ++run;
      }
      block[i] = static_cast<Category>(runs[run] & 0xFF);
    }
    // Below U+3080 blocks are not shared: there white space needs its own.
    const auto next = static_cast<uint16_t>(categories_.size() / 128);
    const bool is_shared = first >= 0x3080;
    const auto [entry, is_new] =
        is_shared ? stored.try_emplace(block, next) : std::pair(stored.end(), true);
    blocks_[first >> 7] = is_new ? next : entry->second;
    if (is_new) {
      for (char32_t i = 0; i < 128; ++i) {
        categories_.push_back(block[i]);
        bits_.push_back(bits_of(first + i, block[i]));
      }
    }
  }
  std::copy_n(bits_.begin(), ascii_.size(), ascii_.begin());
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_number(char32_t c) {
  return (CharTable::get().bits(c) & kBitNumber) != 0;
}

bool is_word_character(char32_t c) {
  const Category category = CharTable::get().category(c);
  const bool is_letter_or_mark = category >= Category::kLu && category <= Category::kMe;
  // Other_Alphabetic outside of the marks: letters in circles and squares.
  const bool is_enclosed = (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
                           (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  return is_letter_or_mark || category == Category::kNd || category == Category::kNl ||
         category == Category::kPc || is_enclosed || c == 0x200C || c == 0x200D;
}

bool is_punctuation(char32_t c) {
  return is_bert_kind(c, kPunctuation);
}

bool is_accent(char32_t c) {
  return is_bert_kind(c, kAccent);
}

bool is_flat_accent(char32_t c) {
  return is_bert_kind(c, kFlatAccent);
}

bool is_bert_control(char32_t c) {
  return is_bert_kind(c, kControl);
}

bool is_cjk(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

void append_lower(std::string& out, char32_t c) {
  if (c == 0x130) {  // the one character whose lower-case form has two
    out += "i\xCC\x87";
    return;
  }
  append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

size_t skip_white_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Unit unit = read_utf8(text, at);
    if (!is_white_space(unit.character)) {
      break;
    }
    at += unit.size;
  }
  return at;
}

size_t character_start(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80) {
    --at;
  }
  return at;
}

size_t skip_white_space_back(std::string_view text, size_t floor, size_t end) {
  while (end > floor) {
    const size_t at = character_start(text, end);
    if (at < floor || !is_white_space(read_utf8(text, at).character)) {
      break;
    }
    end = at;
  }
  return end;
}

}  // namespace fathom::codec

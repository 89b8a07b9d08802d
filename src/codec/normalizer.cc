// The steps of Hugging Face's normalizers; SentencePiece's own stands in piece_normalizer.cc.
// Called by codec/text_tokenizer. Read next: codec/unicode.h. Source: each step's published
// description, compared with the reference character by character.
#include "codec/normalizer.h"

#include <utf8proc.h>

#include <utility>

#include "codec/byte_alphabet.h"
#include "codec/unicode.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

// A step that looks at one character at a time: f(out, c, bytes of c).
template <class F>
void map_characters(std::string& text, F f) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = read_utf8(text, at);
    f(out, unit.character, std::string_view(text).substr(at, unit.size));
    at += unit.size;
  }
  text = std::move(out);
}

// A step made from a function.
template <class F>
class FunctionNormalizer final : public Normalizer {
 public:
  explicit FunctionNormalizer(F f) : f_(std::move(f)) {}

  void apply(std::string& text) const override { f_(text); }

 private:
  F f_;
};

template <class F>
NormalizerPtr make(F f) {
  return std::make_unique<FunctionNormalizer<F>>(std::move(f));
}

void lower(std::string& text) {
  map_characters(text, [](std::string& out, char32_t c, std::string_view bytes) {
    if (c < 0x80) {
      out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    } else if (const Category category = CharTable::get().category(c);
               category == Category::kLu || category == Category::kLt ||
               category == Category::kNl || category == Category::kSo) {
      append_lower(out, c);
    } else {
      out += bytes;
    }
  });
}

bool is_nmt_control(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
         c == 0x8F || c == 0x9F;
}

bool is_nmt_blank(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

void normalize_bert(std::string& text, const BertOptions& options) {
  if (options.clean_text) {
    map_characters(text, [](std::string& out, char32_t c, std::string_view bytes) {
      if (c == 0 || is_bert_control(c)) {
        return;
      }
      out += is_white_space(c) ? std::string_view(" ") : bytes;
    });
  }
  if (options.split_cjk) {
    map_characters(text, [](std::string& out, char32_t c, std::string_view bytes) {
      const std::string_view blank = is_cjk(c) ? " " : "";
      out.append(blank).append(bytes).append(blank);
    });
  }
  if (options.strip_accents && !is_surely_normal(text, NormalForm::kNfd)) {
    text = to_normal_form(text, NormalForm::kNfd);
    map_characters(text, [](std::string& out, char32_t c, std::string_view bytes) {
      out += c >= 0x300 && is_flat_accent(c) ? std::string_view() : bytes;
    });
  }
  if (options.lowercase) {
    lower(text);
  }
}

// The end of the grapheme cluster that begins at `at`.
size_t cluster_end(std::string_view text, size_t at) {
  Utf8Unit unit = read_utf8(text, at);
  utf8proc_int32_t state = 0;
  size_t end = at + unit.size;
  while (end < text.size()) {
    const Utf8Unit next = read_utf8(text, end);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(unit.character),
                                         static_cast<utf8proc_int32_t>(next.character), &state)) {
      break;
    }
    end += next.size;
    unit = next;
  }
  return end;
}

// A cluster of less than six bytes is looked up as a whole, then every character by itself.
void map_clusters(const Charmap& charmap, std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t end = cluster_end(text, at);
    const std::string_view cluster = std::string_view(text).substr(at, end - at);
    const auto whole = cluster.size() < 6 ? charmap.find_shortest(cluster) : std::nullopt;
    if (whole) {
      out += whole->replacement;
      at = end;
      continue;
    }
    while (at < end) {
      const size_t size = read_utf8(text, at).size;
      const std::string_view character = std::string_view(text).substr(at, size);
      const auto found = charmap.find_shortest(character);
      out += found ? found->replacement : character;
      at += size;
    }
  }
  text = std::move(out);
}

std::string replace_matches(const Pattern& pattern, std::string_view text, std::string_view to) {
  std::string out;
  if (text.empty()) {
    return out;  // the reference looks for no match there, not even an empty one
  }
  size_t done = 0;
  Pattern::Walk walk(pattern, text);
  while (const auto match = walk.next()) {
    out.append(text, done, match->begin - done).append(to);
    done = match->end;
  }
  return out.append(text, done);
}

}  // namespace

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  return out.append(text, done);
}

NormalizerPtr make_form_normalizer(NormalForm form) {
  return make([form](std::string& text) {
    if (!is_surely_normal(text, form)) {
      text = to_normal_form(text, form);
    }
  });
}

NormalizerPtr make_lowercase() {
  return make(lower);
}

NormalizerPtr make_strip(bool left, bool right) {
  return make([left, right](std::string& text) {
    const size_t begin = left ? skip_white_space(text, 0) : 0;
    const size_t end = right ? skip_white_space_back(text, begin, text.size()) : text.size();
    text = text.substr(begin, end - begin);
  });
}

NormalizerPtr make_strip_accents() {
  return make([](std::string& text) {
    map_characters(text, [](std::string& out, char32_t c, std::string_view bytes) {
      out += c >= 0x300 && is_accent(c) ? std::string_view() : bytes;
    });
  });
}

NormalizerPtr make_prepend(std::string prefix) {
  return make([prefix = std::move(prefix)](std::string& text) {
    if (!text.empty()) {
      text.insert(0, prefix);
    }
  });
}

NormalizerPtr make_replace_text(std::string from, std::string to) {
  return make([from = std::move(from), to = std::move(to)](std::string& text) {
    if (!from.empty() && text.find(from) != std::string::npos) {
      text = replace_all(text, from, to);
    }
  });
}

NormalizerPtr make_replace_pattern(Pattern pattern, std::string to) {
  return make([pattern = std::move(pattern), to = std::move(to)](std::string& text) {
    text = replace_matches(pattern, text, to);
  });
}

NormalizerPtr make_nmt() {
  return make([](std::string& text) {
    map_characters(text, [](std::string& out, char32_t c, std::string_view bytes) {
      if (!is_nmt_control(c)) {
        out += is_nmt_blank(c) ? std::string_view(" ") : bytes;
      }
    });
  });
}

NormalizerPtr make_byte_level() {
  return make([](std::string& text) { text = to_byte_alphabet(text); });
}

NormalizerPtr make_charmap_by_cluster(Charmap charmap) {
  return make([charmap = std::move(charmap)](std::string& text) { map_clusters(charmap, text); });
}

NormalizerPtr make_bert_normalizer(const BertOptions& options) {
  return make([options](std::string& text) { normalize_bert(text, options); });
}

NormalizerPtr make_sequence(std::vector<NormalizerPtr> steps) {
  return make([steps = std::move(steps)](std::string& text) {
    for (const NormalizerPtr& step : steps) {
      step->apply(text);
    }
  });
}

}  // namespace fathom::codec

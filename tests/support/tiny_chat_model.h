// A tiny random model with a byte-level vocabulary and a ChatML template, as a file: enough for
// every path of the program, with no sense in its answers.
// Called by tests of api and apps. Read next: support/model_rig.h.
#pragma once

#include <string>
#include <vector>

#include "support/gguf_builder.h"
#include "support/model_rig.h"

namespace fathom::test {

inline constexpr int kTinyVocab = 260;
inline constexpr int kTinyBegin = 256;  // <|im_start|>
inline constexpr int kTinyEnd = 257;    // <|im_end|>

// The alphabet that byte-level vocabularies write their bytes in (GPT-2, encoder.py).
inline std::string byte_character(int byte) {
  const bool is_printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
                            (byte >= 0xAE && byte <= 0xFF);
  int character = byte;
  if (!is_printable) {
    // 0..32, 127..160 and 173 become 256, 257, ... in order.
    character = 256 + (byte <= 32 ? byte : byte <= 160 ? byte - 127 + 33 : 67);
  }
  if (character < 0x80) {
    return {static_cast<char>(character)};
  }
  return {static_cast<char>(0xC0 | (character >> 6)), static_cast<char>(0x80 | (character & 0x3F))};
}

inline GgufBuilder tiny_chat_gguf(TinySizes sizes = {}) {
  sizes.n_vocab = kTinyVocab;
  GgufBuilder builder = tiny_gguf(sizes);
  std::vector<std::string> texts;
  std::vector<int32_t> kinds(kTinyVocab, 1);
  for (int byte = 0; byte < 256; ++byte) {
    texts.push_back(byte_character(byte));
  }
  for (const char* control : {"<|im_start|>", "<|im_end|>", "<|pad1|>", "<|pad2|>"}) {
    kinds[texts.size()] = 3;
    texts.emplace_back(control);
  }
  builder.set("tokenizer.ggml.model", "gpt2");
  builder.set("tokenizer.ggml.pre", "gpt-2");
  builder.set("tokenizer.ggml.tokens", texts);
  builder.set("tokenizer.ggml.token_type", kinds);
  builder.set("tokenizer.ggml.merges", std::vector<std::string>{});
  builder.set("tokenizer.ggml.bos_token_id", uint32_t{kTinyBegin});
  builder.set("tokenizer.ggml.eos_token_id", uint32_t{kTinyEnd});
  builder.set("tokenizer.chat_template",
              "{% for m in messages %}"
              "{{'<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n'}}{% endfor %}"
              "{% if add_generation_prompt %}{{'<|im_start|>assistant\\n'}}{% endif %}");
  builder.set("general.license", "test-licence");
  return builder;
}

}  // namespace fathom::test

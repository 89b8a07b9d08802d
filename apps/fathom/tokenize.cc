// fathom tokenize: the ids of a text; a file without tensors is enough.
// Read next: codec/tokenizer.h, codec/jsonl_protocol.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "codec/jsonl_protocol.h"
#include "codec/tokenizer.h"
#include "codec/utf8.h"
#include "command.h"
#include "options.h"
#include "terminal.h"
#include "weights/metadata_override.h"
#include "weights/model_file.h"

namespace fathom::app {

namespace {

struct TokenizeFlags {
  std::string model;
  std::optional<std::string> text;
  bool as_jsonl = false;
  codec::EncodeOptions encode;
  WeightFlags weights;
};

int tokenize(const TokenizeFlags& flags) {
  const auto file = weights::open_model(flags.model);
  for (const std::string& override_text : flags.weights.overrides) {
    weights::apply_override(file->metadata, override_text);
  }
  const auto tokenizer = codec::make_tokenizer(file->metadata);
  if (flags.as_jsonl) {
    if (codec::serve_jsonl(*tokenizer, std::cin, std::cout) != 0 && errno != EPIPE) {
      fail(ErrorCode::kResourceExhausted,
           fmt::format("stdout: cannot be written: {}", std::strerror(errno)));
    }
    return kExitDone;  // a reader that went away is no error
  }
  const std::string text = flags.text ? *flags.text : read_stdin();
  if (!codec::is_valid_utf8(text)) {
    warn("the text is not valid UTF-8; each wrong part was replaced by U+FFFD");
  }
  AnswerWriter writer;
  writer.write(fmt::format("{}\n", fmt::join(tokenizer->encode(text, flags.encode), " ")));
  return kExitDone;
}

}  // namespace

void add_tokenize(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("tokenize", "Print the token ids of a text");
  sub->footer(
      "Examples:\n  fathom tokenize -m model.gguf \"Hello world\"\n"
      "  fathom tokenize -m model.gguf --jsonl < requests.jsonl");
  auto flags = std::make_shared<TokenizeFlags>();
  add_model_path(*sub, flags->model);
  add_override_flag(*sub, flags->weights);
  auto* text = sub->add_option("text", flags->text, "The text (default: all of stdin)");
  auto* special = sub->add_flag("--add-special", flags->encode.add_special,
                                "Add what the model's tokenizer adds around a text (BOS, EOS)");
  auto* parse = sub->add_flag("--parse-special", flags->encode.parse_special,
                              "Control tokens written in the text count as such");
  sub->add_flag("--jsonl", flags->as_jsonl, "Answer JSON lines on stdin, one by one")
      ->excludes(text)
      ->excludes(special)
      ->excludes(parse);
  sub->callback([flags, &command] { command = [flags] { return tokenize(*flags); }; });
}

}  // namespace fathom::app

// fathom tokenize: the tokens of a text; a file without tensors is enough.
// Read next: codec/tokenizer.h, codec/jsonl_protocol.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "codec/jsonl_protocol.h"
#include "codec/tokenizer.h"
#include "codec/utf8.h"
#include "command.h"
#include "model_vocabulary.h"
#include "options.h"
#include "prompt.h"
#include "terminal.h"
#include "token_text.h"

namespace fathom::app {

namespace {

using codec::TokenId;

constexpr const char* kFooter = R"(Examples:
  fathom tokenize -m model.gguf "Hello world"
  fathom tokenize -m folder --pieces < chapter.txt
  fathom tokenize -m tokenizer.json --json "Hello world"
  fathom tokenize -m model.gguf --decode 19556,905
  fathom tokenize -m model.gguf --jsonl < requests.jsonl

stdout has the ids; on a terminal the text comes first, each token on a colour of its own.)";

struct TokenizeFlags {
  std::string model;
  std::optional<std::string> text;
  std::vector<TokenId> decode;
  bool pieces = false;
  bool as_json = false;
  bool as_jsonl = false;
  codec::EncodeOptions encode;
  WeightFlags weights;
};

size_t count_characters(std::string_view text) {
  size_t n = 0;
  for (const char c : text) {
    n += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  }
  return n;
}

std::string figures(const std::string& text, size_t n_tokens) {
  const size_t n_characters = count_characters(text);
  const double ratio =
      n_tokens == 0 ? 0.0 : static_cast<double>(n_characters) / static_cast<double>(n_tokens);
  return fmt::format("{} tokens, {} characters, {} bytes: {:.2f} characters a token", n_tokens,
                     n_characters, text.size(), ratio);
}

std::string as_json(const codec::Tokenizer& tokenizer, const std::string& text,
                    const std::vector<TokenId>& ids) {
  using Json = nlohmann::ordered_json;
  Json object = {{"n_tokens", ids.size()},
                 {"n_characters", count_characters(text)},
                 {"n_bytes", text.size()},
                 {"ids", ids},
                 {"tokens", Json::array()}};
  for (const TokenId id : ids) {
    const std::string bytes = tokenizer.bytes_of(id, true);
    Json token = {{"id", id}, {"text", bytes}, {"bytes", Json::array()}};
    for (const char c : bytes) {
      token["bytes"].push_back(static_cast<unsigned char>(c));
    }
    object["tokens"].push_back(std::move(token));
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string table(const codec::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string out;
  for (size_t i = 0; i < ids.size(); ++i) {
    out += fmt::format("{:>6} {:>8}  {}\n", i, ids[i], one_line(tokenizer.bytes_of(ids[i], true)));
  }
  return out;
}

std::string coloured(const codec::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string out;
  for (size_t i = 0; i < ids.size(); ++i) {
    out += on_colour(marked_lines(tokenizer.bytes_of(ids[i], true)), i);
  }
  return out + "\n";
}

int tokenize(const TokenizeFlags& flags) {
  const auto tokenizer = open_vocabulary(flags.model, flags.weights.overrides);
  if (flags.as_jsonl) {
    return finish_lines(codec::serve_jsonl(*tokenizer, std::cin, std::cout));
  }
  AnswerWriter writer;
  if (!flags.decode.empty()) {
    writer.write(tokenizer->decode(flags.decode, true) + "\n");
    return kExitDone;
  }
  const std::string text = valid_text(flags.text ? *flags.text : read_stdin(), "the text");
  const std::vector<TokenId> ids = tokenizer->encode(text, flags.encode);
  if (flags.as_json) {
    writer.write(as_json(*tokenizer, text, ids));
    return kExitDone;
  }
  if (flags.pieces) {
    writer.write(table(*tokenizer, ids));
  } else {
    writer.write(stdout_has_colours() ? coloured(*tokenizer, ids) : std::string());
    writer.write(fmt::format("{}\n", fmt::join(ids, " ")));
  }
  if (flags.pieces || stderr_is_terminal()) {
    std::fprintf(stderr, "%s\n", figures(text, ids.size()).c_str());
  }
  return kExitDone;
}

}  // namespace

void add_tokenize(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("tokenize", "Print the tokens of a text");
  sub->footer(kFooter);
  auto flags = std::make_shared<TokenizeFlags>();
  sub->add_option("-m,--model", flags->model,
                  "A GGUF file, a Hugging Face folder, or a tokenizer's file")
      ->required()
      ->type_name("MODEL");
  add_override_flag(*sub, flags->weights);
  auto* text = sub->add_option("text", flags->text, "The text (default: all of stdin)");
  auto* special = sub->add_flag("--add-special", flags->encode.add_special,
                                "Add what the model's tokenizer adds around a text (BOS, EOS)");
  auto* parse = sub->add_flag("--parse-special", flags->encode.parse_special,
                              "Control tokens written in the text count as such");
  auto* decode = add_ids(*sub, flags->decode, "--decode", "Print the text of these ids instead")
                     ->excludes(text)
                     ->excludes(special)
                     ->excludes(parse);
  auto* pieces = sub->add_flag("--pieces", flags->pieces,
                               "Print a line for each token: its place, id and text")
                     ->excludes(decode);
  auto* json = sub->add_flag("--json", flags->as_json, "Print one JSON object: ids, texts, counts")
                   ->excludes(pieces)
                   ->excludes(decode);
  sub->add_flag("--jsonl", flags->as_jsonl, "Answer JSON lines on stdin, one by one")
      ->excludes(text)
      ->excludes(special)
      ->excludes(parse)
      ->excludes(decode)
      ->excludes(pieces)
      ->excludes(json);
  sub->callback([flags, &command] { command = [flags] { return tokenize(*flags); }; });
}

}  // namespace fathom::app

// A table for people, one object for programs.
#include "inspect_prompt.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/prompt_view.h"
#include "command.h"
#include "model_vocabulary.h"
#include "terminal.h"
#include "token_text.h"

namespace fathom::app {

namespace {

std::string as_json(const api::PromptView& view) {
  using Json = nlohmann::ordered_json;
  Json object = {{"template", view.template_name},
                 {"text", view.rendered.text},
                 {"tokens", Json::array()},
                 {"warnings", view.warnings}};
  for (const api::PromptToken& token : view.tokens) {
    object["tokens"].push_back({{"id", token.id},
                                {"text", token.bytes},
                                {"control", token.is_control},
                                {"begin", token.begin},
                                {"end", token.end},
                                {"origin", token.origin}});
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_table(const api::PromptView& view, bool in_colour) {
  std::string out = fmt::format("template '{}', {} tokens, {} bytes; * is a control token\n\n",
                                view.template_name, view.tokens.size(), view.rendered.text.size());
  for (size_t i = 0; i < view.tokens.size(); ++i) {
    const api::PromptToken& token = view.tokens[i];
    const std::string text = one_line(token.bytes);
    const bool is_template = token.origin == "template" || token.origin == "tokenizer";
    out += fmt::format("{:>6} {:>8} {} {}{:{}}  {}\n", i, token.id, token.is_control ? '*' : ' ',
                       in_colour && !is_template ? on_colour(text, i) : text, "",
                       text.size() < 24 ? 24 - text.size() : 0, token.origin);
  }
  for (const std::string& warning : view.warnings) {
    out += fmt::format("\nwarning: {}", warning);
  }
  return out + (view.warnings.empty() ? "" : "\n");
}

}  // namespace

int inspect_prompt(const std::string& model, const std::vector<std::string>& overrides,
                   const std::string& file, const ChatFlags& chat, bool as_json_object) {
  const auto tokenizer = open_vocabulary(model, overrides);
  const codec::ChatTemplate chat_template = load_chat_template(chat, tokenizer->vocabulary());
  const api::PromptView view =
      api::view_prompt(*tokenizer, chat_template, guess_conversation(chat, file));
  AnswerWriter().write(as_json_object ? as_json(view) : as_table(view, stdout_has_colours()));
  return kExitDone;
}

}  // namespace fathom::app

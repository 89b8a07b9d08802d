// fathom template: the prompt that a conversation becomes, as text.
// Read next: codec/chat_template.h, codec/template_jsonl.h.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/prompt_view.h"
#include "base/error.h"
#include "chat_flags.h"
#include "codec/template_jsonl.h"
#include "command.h"
#include "model_vocabulary.h"
#include "options.h"
#include "prompt.h"
#include "terminal.h"
#include "token_text.h"

namespace fathom::app {

namespace {

constexpr const char* kFooter = R"(Examples:
  fathom template -m model.gguf "Why is the sky blue?"
  fathom template -m folder --messages chat.json --chat-template-kwargs '{"enable_thinking":false}'
  fathom template --chat-template my.jinja --messages chat.json
  fathom template -m model.gguf --show
  fathom template --jsonl < requests.jsonl

The prompt goes to stdout as it is; on a terminal the parts that are not the template's are coloured.)";

struct TemplateFlags {
  std::string model;
  std::optional<std::string> text;
  ChatFlags chat;
  bool no_generation_prompt = false;
  bool show = false;
  bool as_json = false;
  bool as_jsonl = false;
  WeightFlags weights;
};

using Json = nlohmann::ordered_json;
using codec::jinja::Rendered;
using codec::jinja::Span;

std::string coloured(const Rendered& rendered) {
  std::string out;
  for (const Span& span : rendered.spans) {
    const auto text = std::string_view(rendered.text).substr(span.begin, span.length);
    out += span.origin == 0 ? std::string(text) : on_colour(text, span.origin - 1);
  }
  return out;
}

std::string as_json(const std::string& name, const Rendered& rendered) {
  Json object = {{"template", name}, {"text", rendered.text}, {"spans", Json::array()}};
  for (const Span& span : rendered.spans) {
    object["spans"].push_back({{"begin", span.begin},
                               {"length", span.length},
                               {"origin", api::describe_origin(rendered.origins[span.origin])}});
  }
  object["generated"] = Json::array();
  for (const auto& [begin, end] : rendered.generated) {
    object["generated"].push_back({begin, end});
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The sources of all templates of the model, or of the chosen one.
std::string sources(const codec::Vocabulary& vocabulary) {
  std::string out;
  const auto add = [&](std::string_view name, std::string_view source) {
    out += fmt::format("{}=== {} ===\n{}{}", out.empty() ? "" : "\n", name, source,
                       source.ends_with('\n') ? "" : "\n");
  };
  if (!vocabulary.chat_template.empty()) {
    add("default", vocabulary.chat_template);
  }
  for (const codec::NamedTemplate& entry : vocabulary.named_templates) {
    add(entry.name, entry.source);
  }
  return out.empty() ? "the model has no chat template\n" : out;
}

codec::Conversation conversation_of(const TemplateFlags& flags) {
  codec::Conversation conversation;
  if (flags.chat.messages_file.empty()) {
    const std::string text = flags.text ? *flags.text : without_last_line_end(read_stdin());
    conversation = read_conversation(flags.chat, valid_text(text, "the message"));
  } else {
    conversation = read_conversation(flags.chat, "");
  }
  if (flags.no_generation_prompt) {
    conversation.add_generation_prompt = false;
  }
  return conversation;
}

int render(const TemplateFlags& flags) {
  if (flags.as_jsonl) {
    return finish_lines(codec::serve_template_jsonl(std::cin, std::cout));
  }
  if (flags.model.empty() && flags.chat.chat_template.empty()) {
    throw UsageError("give -m MODEL, --chat-template FILE|NAME, or --jsonl");
  }
  const codec::Vocabulary vocabulary =
      flags.model.empty() ? codec::Vocabulary()
                          : open_vocabulary(flags.model, flags.weights.overrides)->vocabulary();
  AnswerWriter writer;
  if (flags.show) {
    writer.write(sources(vocabulary));
    return kExitDone;
  }
  const codec::ChatTemplate chat = load_chat_template(flags.chat, vocabulary);
  const codec::Conversation conversation = conversation_of(flags);
  const Rendered rendered = chat.render(conversation);
  if (flags.as_json) {
    writer.write(as_json(chat.name_for(conversation), rendered));
  } else {
    writer.write(stdout_has_colours() ? coloured(rendered) : rendered.text);
  }
  return kExitDone;
}

}  // namespace

void add_template(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("template", "Print the prompt that a chat template makes");
  sub->footer(kFooter);
  auto flags = std::make_shared<TemplateFlags>();
  auto* model = sub->add_option("-m,--model", flags->model,
                                "A GGUF file, a Hugging Face folder, or a tokenizer's file")
                    ->check(require_name)
                    ->type_name("MODEL");
  auto* changes = add_override_flag(*sub, flags->weights)->needs(model);
  auto* text =
      sub->add_option("text", flags->text, "A message of the user (default: all of stdin)");
  const ChatOptions chat = add_chat_flags(*sub, flags->chat);
  chat.messages->excludes(text);
  auto* open = sub->add_flag("--no-generation-prompt", flags->no_generation_prompt,
                             "Do not open the assistant's turn at the end")
                   ->excludes(chat.continues);
  auto* show = sub->add_flag("--show", flags->show, "Print the templates of the model themselves")
                   ->needs(model);
  for (Option* option : {text, chat.messages, chat.system, chat.chat_template, chat.variables,
                         chat.continues, open}) {
    show->excludes(option);
  }
  auto* json = sub->add_flag("--json", flags->as_json,
                             "Print one JSON object: text, and where every byte came from")
                   ->excludes(show);
  sub->add_flag("--jsonl", flags->as_jsonl, "Answer JSON lines on stdin, one by one")
      ->excludes(model)
      ->excludes(changes)
      ->excludes(text)
      ->excludes(json)
      ->excludes(open)
      ->excludes(chat.messages)
      ->excludes(chat.system)
      ->excludes(chat.chat_template)
      ->excludes(chat.variables);
  sub->callback([flags, &command] { command = [flags] { return render(*flags); }; });
}

}  // namespace fathom::app

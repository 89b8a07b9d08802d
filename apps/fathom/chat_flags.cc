// Names before files; files and JSON before messages.
#include "chat_flags.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/regular_file.h"
#include "codec/builtin_templates.h"
#include "command.h"
#include "options.h"
#include "prompt.h"
#include "terminal.h"

namespace fathom::app {

namespace {

constexpr int64_t kMaxTemplateBytes = int64_t{64} << 20;
constexpr const char* kVariablesFlag = "--chat-template-kwargs";

// What the flags add to a conversation.
void apply(const ChatFlags& flags, codec::Conversation& conversation) {
  if (flags.variables) {
    conversation.variables = codec::merge_template_variables(
        conversation.variables, codec::parse_template_variables(*flags.variables, kVariablesFlag));
  }
  if (flags.continue_final_message) {
    conversation.continue_final_message = true;
    conversation.add_generation_prompt = false;
  }
}

codec::Conversation parse_file(const ChatFlags& flags, std::string_view json,
                               const std::string& path) {
  codec::Conversation conversation = codec::parse_conversation(json, path);
  apply(flags, conversation);
  return conversation;
}

}  // namespace

Option* add_chat_template_flag(CommandLine& app, ChatFlags& flags) {
  return app
      .add_option("--chat-template", flags.chat_template,
                  "A Jinja file, or a name: of the model's own templates, or " +
                      codec::builtin_template_names() + " (default: the model's)")
      ->check(require_name)
      ->type_name("FILE|NAME");
}

ChatOptions add_chat_flags(CommandLine& app, ChatFlags& flags) {
  ChatOptions added{};
  added.system = app.add_option("--system", flags.system, "System message, or @FILE that holds it")
                     ->check([](const std::string& given) {
                       return given == "@" ? require_name("") : std::string();
                     })
                     ->type_name("TEXT|@FILE");
  added.messages =
      app.add_option("--messages", flags.messages_file,
                     "A conversation: JSON, a list of messages or a chat request with tools")
          ->check(require_name)
          ->type_name("FILE")
          ->excludes(added.system);
  added.chat_template = add_chat_template_flag(app, flags);
  added.variables = app.add_option(kVariablesFlag, flags.variables,
                                   "Variables of the template, such as {\"enable_thinking\":false}")
                        ->type_name("JSON");
  added.continues = app.add_flag("--continue-final-message", flags.continue_final_message,
                                 "Go on inside of the last of --messages, instead of a new turn")
                        ->needs(added.messages);
  return added;
}

codec::ChatTemplate load_chat_template(const ChatFlags& flags,
                                       const codec::Vocabulary& vocabulary) {
  const std::string& given = flags.chat_template;
  if (given.empty() || codec::ChatTemplate::has_name(vocabulary, given) ||
      !std::filesystem::exists(given)) {
    return codec::ChatTemplate::of_model(vocabulary, given);
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string source = RegularFile(given).read(kMaxTemplateBytes);
  if (source.starts_with(kByteOrderMark)) {
    source.erase(0, kByteOrderMark.size());
  }
  try {
    return codec::ChatTemplate::of_source(vocabulary, source, given);
  } catch (const Error& error) {
    fail(error.code(), fmt::format("{}: {}", given, error.what()));
  }
}

std::optional<std::string> read_system(const ChatFlags& flags) {
  if (!flags.system) {
    return std::nullopt;
  }
  if (flags.system->starts_with('@')) {
    return read_plain_text(flags.system->substr(1), "the system message");
  }
  return valid_text(*flags.system, "the system message");
}

codec::Conversation make_conversation(const ChatFlags& flags,
                                      std::span<const codec::Message> messages) {
  codec::Conversation conversation = codec::make_conversation(messages);
  apply(flags, conversation);
  return conversation;
}

codec::Conversation read_conversation(const ChatFlags& flags, const std::string& user_text) {
  if (!flags.messages_file.empty()) {
    return parse_file(flags, read_text_file(flags.messages_file), flags.messages_file);
  }
  std::vector<codec::Message> messages;
  if (const auto system = read_system(flags)) {
    messages.push_back({"system", *system});
  }
  messages.push_back({"user", user_text});
  return make_conversation(flags, messages);
}

codec::Conversation guess_conversation(const ChatFlags& flags, const std::string& path) {
  const std::string text = read_text_file(path);
  const bool is_json =
      std::filesystem::path(path).extension() == ".json" ||
      nlohmann::json::accept(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text);
  return is_json ? parse_file(flags, text, path)
                 : read_conversation(flags, valid_text(without_last_line_end(text), "the prompt"));
}

}  // namespace fathom::app

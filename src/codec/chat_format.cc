// One function a format. Structure is written as ids, text between two control tokens is encoded in
// one go. Called by api/generator. Read next: codec/tokenizer.h.
#include "codec/chat_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace fathom::codec {

namespace {

struct FormatName {
  ChatFormat format;
  std::string_view name;
  std::string_view marker;  // what its templates contain
};

// In the order in which markers are looked for.
constexpr auto kFormats = std::to_array<FormatName>({
    {ChatFormat::kChatMl, "chatml", "<|im_start|>"},
    {ChatFormat::kLlama3, "llama3", "<|start_header_id|>"},
    {ChatFormat::kGemma, "gemma", "<start_of_turn>"},
    {ChatFormat::kMistral, "mistral", "[INST]"},
});

// Templates with these look like one of the four and are another format.
constexpr std::string_view kForeignMarkers[] = {"<<SYS>>", "<|im_sep|>", "<|im_user|>"};

constexpr std::string_view kHint =
    "use --raw for a plain completion, or --chat-format chatml|llama3|mistral|gemma";

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Prompt ids as they grow. Text is kept back until the next control token, so that it is encoded
// as one piece, as the reference does with a rendered template.
class PromptWriter {
 public:
  PromptWriter(const Tokenizer& tokenizer, ChatFormat format)
      : tokenizer_(tokenizer), format_(format) {}

  void bos() {
    if (const auto id = tokenizer_.vocabulary().bos) {
      put(*id);
    }
  }

  // Error: kInvalidArgument when the vocabulary has no such token.
  void control(std::string_view token_text) {
    const auto id = tokenizer_.find(token_text);
    if (!id) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("chat format '{}': the vocabulary has no token '{}'; {}", name_of(format_),
                       token_text, kHint));
    }
    put(*id);
  }

  void eos() {
    if (const auto id = tokenizer_.vocabulary().eos) {
      put(*id);
    }
  }

  void text(std::string_view part) { pending_ += part; }

  std::vector<TokenId> take() {
    flush();
    return std::move(ids_);
  }

 private:
  void put(TokenId id) {
    flush();
    ids_.push_back(id);
  }

  void flush() {
    if (!pending_.empty()) {
      const std::vector<TokenId> ids =
          tokenizer_.encode(pending_, EncodeOptions{.keep_markers = true});
      ids_.insert(ids_.end(), ids.begin(), ids.end());
      pending_.clear();
    }
  }

  const Tokenizer& tokenizer_;
  ChatFormat format_;
  std::string pending_;
  std::vector<TokenId> ids_;
};

[[noreturn]] void fail_message(ChatFormat format, size_t index, std::string_view what) {
  fail(ErrorCode::kInvalidArgument,
       fmt::format("chat format '{}': message {}: {}", name_of(format), index + 1, what));
}

void check_roles(ChatFormat format, std::span<const Message> messages) {
  if (messages.empty()) {
    fail(ErrorCode::kInvalidArgument, "a chat needs at least one message");
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role != "system" && role != "user" && role != "assistant") {
      fail_message(format, i,
                   fmt::format("found the role '{}', expected system, user or assistant", role));
    }
  }
}

// A conversation of formats without a system role: the system text apart, the turns alternating.
struct Turns {
  std::string_view system;
  std::span<const Message> turns;  // user, assistant, user ...
};

Turns split_turns(ChatFormat format, std::span<const Message> messages) {
  Turns split{.system = {}, .turns = messages};
  size_t first = 0;
  if (messages[0].role == "system") {
    split.system = messages[0].content;
    split.turns = messages.subspan(1);
    first = 1;
  }
  if (split.turns.empty()) {
    fail_message(format, 0,
                 "a system message alone; this format puts it into the user's first turn");
  }
  for (size_t i = 0; i < split.turns.size(); ++i) {
    const std::string_view expected = i % 2 == 0 ? "user" : "assistant";
    if (split.turns[i].role != expected) {
      fail_message(format, first + i,
                   fmt::format("found the role '{}', expected '{}': user and assistant alternate",
                               split.turns[i].role, expected));
    }
  }
  return split;
}

// The text in a template between the opening of a system turn and its end, when that is fixed text;
// else nothing. Templates quote it as '<|im_start|>system\nTEXT<|im_end|>\n', or write it bare.
std::optional<std::string> read_system_text(std::string_view chat_template, size_t open,
                                            std::string_view opening) {
  const char before = open == 0 ? '\n' : chat_template[open - 1];
  const bool quoted = before == '\'' || before == '"';
  const std::string_view rest = chat_template.substr(open + opening.size());
  std::string text;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest.substr(i).starts_with("<|im_end|>")) {
      return text.empty() ? std::nullopt : std::optional(text);
    }
    const std::string_view pair = rest.substr(i, 2);
    if ((quoted && rest[i] == before) || (!quoted && (pair == "{{" || pair == "{%"))) {
      return std::nullopt;  // the text goes on with an expression
    }
    if (quoted && rest[i] == '\\' && pair.size() == 2) {
      text += pair[1] == 'n' ? '\n' : pair[1] == 't' ? '\t' : pair[1];
      ++i;
    } else {
      text += rest[i];
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_default_system(std::string_view chat_template) {
  constexpr std::string_view kOpenings[] = {"<|im_start|>system\\n", "<|im_start|>system\n"};
  for (const std::string_view opening : kOpenings) {
    for (size_t at = chat_template.find(opening); at != std::string_view::npos;
         at = chat_template.find(opening, at + 1)) {
      if (auto text = read_system_text(chat_template, at, opening)) {
        return text;
      }
    }
  }
  return std::nullopt;
}

void write_chat_ml(const Vocabulary& vocabulary, std::span<const Message> messages,
                   PromptWriter& writer) {
  const auto turn = [&](std::string_view role, std::string_view content) {
    writer.control("<|im_start|>");
    writer.text(role);
    writer.text("\n");
    writer.text(content);
    writer.control("<|im_end|>");
    writer.text("\n");
  };
  if (vocabulary.chat_template.find("bos_token") != std::string::npos) {
    writer.bos();
  }
  if (messages[0].role != "system") {
    if (const auto text = find_default_system(vocabulary.chat_template)) {
      turn("system", *text);
    }
  }
  for (const Message& message : messages) {
    turn(message.role, message.content);
  }
  writer.control("<|im_start|>");
  writer.text("assistant\n");
}

void write_llama3(std::span<const Message> messages, PromptWriter& writer) {
  const auto header = [&](std::string_view role) {
    writer.control("<|start_header_id|>");
    writer.text(role);
    writer.control("<|end_header_id|>");
    writer.text("\n\n");
  };
  writer.bos();
  for (const Message& message : messages) {
    header(message.role);
    writer.text(trim(message.content));
    writer.control("<|eot_id|>");
  }
  header("assistant");
}

// Version 1 writes "[INST] text [/INST]" as plain text; vocabularies with control tokens for the
// two brackets have no blanks next to them.
void write_mistral(const Tokenizer& tokenizer, std::span<const Message> messages,
                   PromptWriter& writer) {
  const Turns split = split_turns(ChatFormat::kMistral, messages);
  const bool has_tokens = tokenizer.find("[INST]") && tokenizer.find("[/INST]");
  const bool has_system = tokenizer.find("[SYSTEM_PROMPT]") && tokenizer.find("[/SYSTEM_PROMPT]");
  writer.bos();
  std::string system(split.system);
  if (has_tokens && has_system && !system.empty()) {
    writer.control("[SYSTEM_PROMPT]");
    writer.text(std::exchange(system, {}));
    writer.control("[/SYSTEM_PROMPT]");
  }
  for (size_t i = 0; i < split.turns.size(); ++i) {
    const std::string& content = split.turns[i].content;
    if (split.turns[i].role == "assistant") {
      writer.text(content);
      writer.eos();
      continue;
    }
    const std::string prefix = i == 0 && !system.empty() ? system + "\n\n" : std::string();
    if (has_tokens) {
      writer.control("[INST]");
      writer.text(prefix + content);
      writer.control("[/INST]");
    } else {
      writer.text(fmt::format("[INST] {}{} [/INST]", prefix, content));
    }
  }
}

void write_gemma(std::span<const Message> messages, PromptWriter& writer) {
  const Turns split = split_turns(ChatFormat::kGemma, messages);
  writer.bos();
  for (size_t i = 0; i < split.turns.size(); ++i) {
    const Message& message = split.turns[i];
    writer.control("<start_of_turn>");
    writer.text(message.role == "user" ? "user\n" : "model\n");
    if (i == 0 && !split.system.empty()) {
      writer.text(split.system);
      writer.text("\n\n");
    }
    writer.text(trim(message.content));
    writer.control("<end_of_turn>");
    writer.text("\n");
  }
  writer.control("<start_of_turn>");
  writer.text("model\n");
}

}  // namespace

std::string_view name_of(ChatFormat format) {
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const FormatName& entry) { return entry.format == format; });
  return found == kFormats.end() ? std::string_view() : found->name;
}

std::string chat_format_names() {
  std::string names;
  for (const FormatName& entry : kFormats) {
    names += names.empty() ? "" : ", ";
    names += entry.name;
  }
  return names;
}

std::optional<ChatFormat> find_chat_format(std::string_view name) {
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const FormatName& entry) { return entry.name == name; });
  return found == kFormats.end() ? std::nullopt : std::optional(found->format);
}

ChatFormat detect_chat_format(const Vocabulary& vocabulary) {
  const std::string_view text = vocabulary.chat_template;
  if (text.empty()) {
    fail(ErrorCode::kUnsupported, fmt::format("the file has no chat template; {}", kHint));
  }
  const bool is_foreign = std::any_of(
      std::begin(kForeignMarkers), std::end(kForeignMarkers),
      [&](std::string_view marker) { return text.find(marker) != std::string_view::npos; });
  for (const FormatName& entry : kFormats) {
    if (!is_foreign && text.find(entry.marker) != std::string_view::npos) {
      return entry.format;
    }
  }
  fail(
      ErrorCode::kUnsupported,
      fmt::format("the file's chat template is none of chatml, llama3, mistral, gemma; {}", kHint));
}

std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, ChatFormat format,
                                 std::span<const Message> messages) {
  check_roles(format, messages);
  PromptWriter writer(tokenizer, format);
  switch (format) {
    case ChatFormat::kChatMl:
      write_chat_ml(tokenizer.vocabulary(), messages, writer);
      break;
    case ChatFormat::kLlama3:
      write_llama3(messages, writer);
      break;
    case ChatFormat::kMistral:
      write_mistral(tokenizer, messages, writer);
      break;
    case ChatFormat::kGemma:
      write_gemma(messages, writer);
      break;
  }
  return writer.take();
}

}  // namespace fathom::codec

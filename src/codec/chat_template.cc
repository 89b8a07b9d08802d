// Chooses, fills in, renders, cuts, encodes.
// Called by api and apps. Source: transformers' apply_chat_template.
#include "codec/chat_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "codec/builtin_templates.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kDefaultName = "default";
constexpr std::string_view kToolName = "tool_use";

// Roles that are one word of the chat formats and can be part of a control token's text.
constexpr std::string_view kRoles[] = {"system", "developer", "user",    "assistant",
                                       "tool",   "function",  "ipython", "observation"};

const NamedTemplate* find_named(const Vocabulary& vocabulary, std::string_view name) {
  const auto& all = vocabulary.named_templates;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const NamedTemplate& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Every name that of_model takes.
std::string all_names(const Vocabulary& vocabulary) {
  std::vector<std::string_view> names;
  if (!vocabulary.chat_template.empty()) {
    names.push_back(kDefaultName);
  }
  for (const NamedTemplate& entry : vocabulary.named_templates) {
    names.push_back(entry.name);
  }
  return fmt::format("{}{}{}", fmt::join(names, ", "), names.empty() ? "" : ", ",
                     builtin_template_names());
}

std::string message_with(std::string_view content) {
  return fmt::format(R"([{{"role":"user","content":{}}}])", content);
}

constexpr std::string_view kProbe = "@probe@";

// The end of what the last message's content wrote; 0 when it wrote nothing.
size_t find_content_end(const jinja::Rendered& rendered, int64_t message) {
  size_t end = 0;
  for (const jinja::Span& span : rendered.spans) {
    const jinja::Origin& origin = rendered.origins[span.origin];
    if (origin.kind == jinja::Origin::Kind::kMessage && origin.message == message &&
        origin.path.starts_with("content")) {
      end = span.begin + span.length;
    }
  }
  return end;
}

// Takes away what stands behind `end`.
void cut(jinja::Rendered& rendered, size_t end) {
  rendered.text.resize(end);
  while (!rendered.spans.empty() && rendered.spans.back().begin >= end) {
    rendered.spans.pop_back();
  }
  std::erase_if(rendered.generated, [&](const auto& range) { return range.first >= end; });
  for (auto& range : rendered.generated) {
    range.second = std::min(range.second, end);
  }
}

}  // namespace

bool ChatTemplate::has_name(const Vocabulary& vocabulary, std::string_view name) {
  return (name == kDefaultName && !vocabulary.chat_template.empty()) ||
         find_named(vocabulary, name) != nullptr || find_builtin_template(name).has_value();
}

ChatTemplate ChatTemplate::of_model(const Vocabulary& vocabulary, std::string_view name) {
  if (!name.empty() && name != kDefaultName) {
    const NamedTemplate* named = find_named(vocabulary, name);
    if (named != nullptr) {
      return {vocabulary, named->source, std::string(name)};
    }
    if (const auto source = find_builtin_template(name)) {
      return {vocabulary, *source, std::string(name)};
    }
    fail(ErrorCode::kInvalidArgument,
         fmt::format("chat template '{}' is neither a file nor one of {}", name,
                     all_names(vocabulary)));
  }
  if (vocabulary.chat_template.empty()) {
    fail(ErrorCode::kUnsupported,
         fmt::format("the model has no chat template; use --raw for a plain completion, or "
                     "--chat-template FILE|NAME with one of {}",
                     all_names(vocabulary)));
  }
  ChatTemplate made(vocabulary, vocabulary.chat_template, std::string(kDefaultName));
  const NamedTemplate* tools = find_named(vocabulary, kToolName);
  if (tools != nullptr && name.empty()) {
    made.with_tools_ = jinja::Template::parse(tools->source);
  }
  return made;
}

ChatTemplate ChatTemplate::of_source(const Vocabulary& vocabulary, std::string_view source,
                                     std::string name) {
  return {vocabulary, source, std::move(name)};
}

ChatTemplate::ChatTemplate(const Vocabulary& vocabulary, std::string_view source, std::string name)
    : name_(std::move(name)), main_(jinja::Template::parse(source)) {
  const auto add = [&](std::string_view variable, std::optional<TokenId> id) {
    if (id) {
      tokens_.emplace_back(variable, vocabulary.texts[static_cast<size_t>(*id)]);
    }
  };
  add("bos_token", vocabulary.bos);
  add("eos_token", vocabulary.eos);
  add("unk_token", vocabulary.unk);
  add("pad_token", vocabulary.pad);
  takes_text_ = knows_content(fmt::format("\"{}\"", kProbe));
  takes_parts_ = knows_content(fmt::format(R"([{{"type":"text","text":"{}"}}])", kProbe));
}

// Whether a content of this form comes out as its text. A template that refuses everything counts
// as knowing it, so that its own error is shown.
bool ChatTemplate::knows_content(std::string_view content) const {
  Conversation conversation;
  conversation.messages = message_with(content);
  try {
    const std::string text = main_.render(variables_for(conversation)).text;
    return text.find(kProbe) != std::string::npos && text.find("'type'") == std::string::npos &&
           text.find("\"type\"") == std::string::npos;
  } catch (const Error&) {
    return false;
  }
}

jinja::Variables ChatTemplate::variables_for(const Conversation& conversation) const {
  using From = jinja::Variables::From;
  jinja::Variables variables;
  for (const auto& [name, text] : tokens_) {
    variables.set_text(name, text, From::kTemplate);
  }
  variables.set_all(conversation.variables);
  variables.set_json("messages", conversation.messages, From::kUser);
  variables.set_json("tools", conversation.tools, From::kUser);
  variables.set_json("documents", conversation.documents, From::kUser);
  variables.set_bool("add_generation_prompt", conversation.add_generation_prompt);
  return variables;
}

jinja::Rendered ChatTemplate::render(const Conversation& conversation,
                                     const jinja::RenderOptions& options) const {
  if (conversation.continue_final_message && conversation.add_generation_prompt) {
    fail(ErrorCode::kInvalidArgument,
         "add_generation_prompt and continue_final_message cannot both be true: the prompt either "
         "opens a new turn or ends inside of the last message");
  }
  jinja::Variables variables = variables_for(conversation);
  if (takes_parts_ != takes_text_) {
    const bool other_form = takes_text_ ? conversation.has_parts : conversation.has_texts;
    if (other_form) {
      variables.set_json("messages",
                         takes_text_ ? with_text_content(conversation.messages)
                                     : with_part_content(conversation.messages),
                         jinja::Variables::From::kUser);
    }
  }
  const bool use_tools = with_tools_.has_value() && conversation.has_tools();
  jinja::Rendered rendered = (use_tools ? *with_tools_ : main_).render(variables, options);
  if (conversation.continue_final_message) {
    const size_t end = find_content_end(rendered, conversation.n_messages - 1);
    if (end == 0) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("continue_final_message: the prompt holds nothing of messages[{}].content; "
                       "it is empty, or the chat template leaves it out",
                       conversation.n_messages - 1));
    }
    cut(rendered, end);
  }
  return rendered;
}

bool is_structure(const jinja::Rendered& rendered, const jinja::Span& span) {
  const jinja::Origin& origin = rendered.origins[span.origin];
  if (origin.kind == jinja::Origin::Kind::kTemplate) {
    return true;
  }
  const auto text = std::string_view(rendered.text).substr(span.begin, span.length);
  return origin.kind == jinja::Origin::Kind::kMessage && origin.path == "role" &&
         std::find(std::begin(kRoles), std::end(kRoles), text) != std::end(kRoles);
}

std::vector<TokenId> encode_rendered(const Tokenizer& tokenizer, const jinja::Rendered& rendered) {
  std::vector<PlainRange> plain;
  for (const jinja::Span& span : rendered.spans) {
    if (is_structure(rendered, span)) {
      continue;
    }
    if (!plain.empty() && plain.back().end == span.begin) {
      plain.back().end += span.length;
    } else {
      plain.push_back({span.begin, span.begin + span.length});
    }
  }
  std::vector<TokenId> ids =
      tokenizer.encode(rendered.text, {.parse_special = true, .plain = plain, .one_bos = true});
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  if (vocabulary.bos && vocabulary.add_bos && (ids.empty() || ids.front() != *vocabulary.bos)) {
    ids.insert(ids.begin(), *vocabulary.bos);
  }
  return ids;
}

}  // namespace fathom::codec

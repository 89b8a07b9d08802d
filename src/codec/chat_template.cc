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

constexpr std::string_view kProbe = "@probe@";

// Conversations whose message `content` every template takes in one of them.
constexpr std::string_view kProbes[] = {
    R"([{{"role":"user","content":{0}}}])",
    R"([{{"role":"system","content":{0}}},{{"role":"user","content":{0}}}])",
    R"([{{"role":"user","content":{0}}},{{"role":"assistant","content":{0}}},{{"role":"user","content":{0}}}])",
};

// Whether the probe came out as text, and not within a list written as Python or JSON does.
bool shows_probe(std::string_view text) {
  constexpr std::string_view kWrapped[] = {"'text': '@probe@'", "\"text\": \"@probe@\"",
                                           "\"text\":\"@probe@\""};
  return text.find(kProbe) != std::string_view::npos &&
         std::none_of(std::begin(kWrapped), std::end(kWrapped), [&](std::string_view wrapped) {
           return text.find(wrapped) != std::string_view::npos;
         });
}

bool is_content(std::string_view path) {
  return path == "content" || path.starts_with("content[");
}

// The end of what the last message's content wrote; 0 when it wrote nothing.
size_t find_content_end(const jinja::Rendered& rendered, int64_t message) {
  size_t end = 0;
  for (const jinja::Span& span : rendered.spans) {
    const jinja::Origin& origin = rendered.origins[span.origin];
    if (origin.kind == jinja::Origin::Kind::kMessage && origin.message == message &&
        is_content(origin.path)) {
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
  ChatTemplate made(vocabulary);
  if (!name.empty() && name != kDefaultName) {
    const NamedTemplate* named = find_named(vocabulary, name);
    const auto builtin = find_builtin_template(name);
    if (named == nullptr && !builtin) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("chat template '{}' is neither a file nor one of {}", name,
                       all_names(vocabulary)));
    }
    made.add(std::string(name), named != nullptr ? std::string_view(named->source) : *builtin);
    return made;
  }
  if (vocabulary.chat_template.empty()) {
    fail(ErrorCode::kUnsupported,
         fmt::format("the model has no {}chat template; use --raw for a plain completion, or "
                     "--chat-template FILE|NAME with one of {}",
                     vocabulary.named_templates.empty() ? "" : "default ", all_names(vocabulary)));
  }
  made.add(std::string(kDefaultName), vocabulary.chat_template);
  const NamedTemplate* tools = find_named(vocabulary, kToolName);
  if (tools != nullptr && name.empty()) {
    made.add(std::string(kToolName), tools->source);
  }
  return made;
}

ChatTemplate ChatTemplate::of_source(const Vocabulary& vocabulary, std::string_view source,
                                     std::string name) {
  ChatTemplate made(vocabulary);
  made.add(std::move(name), source);
  return made;
}

ChatTemplate::ChatTemplate(const Vocabulary& vocabulary) {
  const auto add_token = [&](std::string_view variable, std::optional<TokenId> id) {
    if (id) {
      tokens_.emplace_back(variable, vocabulary.texts[static_cast<size_t>(*id)]);
    }
  };
  add_token("bos_token", vocabulary.bos);
  add_token("eos_token", vocabulary.eos);
  add_token("unk_token", vocabulary.unk);
  add_token("pad_token", vocabulary.pad);
}

void ChatTemplate::add(std::string name, std::string_view source) {
  Form form{.name = std::move(name), .source = jinja::Template::parse(source)};
  form.takes_text = knows_content(form.source, fmt::format("\"{}\"", kProbe));
  form.takes_parts =
      knows_content(form.source, fmt::format(R"([{{"type":"text","text":"{}"}}])", kProbe));
  forms_.push_back(std::move(form));
  knows_developer_ = knows_developer_ || source.find("developer") != std::string_view::npos;
}

// Whether a content of this form comes out as its text in the first conversation that the template
// does not refuse.
bool ChatTemplate::knows_content(const jinja::Template& source, std::string_view content) const {
  for (const std::string_view probe : kProbes) {
    Conversation conversation;
    conversation.messages = fmt::format(fmt::runtime(probe), content);
    try {
      return shows_probe(source.render(variables_for(conversation)).text);
    } catch (const Error&) {
      continue;
    }
  }
  return false;
}

const ChatTemplate::Form& ChatTemplate::form_for(const Conversation& conversation) const {
  return conversation.has_tools() ? forms_.back() : forms_.front();
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
  const Form& form = form_for(conversation);
  jinja::Variables variables = variables_for(conversation);
  const bool other_form = form.takes_text ? conversation.has_parts : conversation.has_texts;
  if (form.takes_parts != form.takes_text && other_form) {
    variables.set_json("messages",
                       form.takes_text ? with_text_content(conversation.messages)
                                       : with_part_content(conversation.messages),
                       jinja::Variables::From::kUser);
  }
  jinja::Rendered rendered = form.source.render(variables, options);
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

EncodedPrompt encode_rendered(const Tokenizer& tokenizer, const jinja::Rendered& rendered) {
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
  EncodedPrompt prompt;
  prompt.ids =
      tokenizer.encode(rendered.text, {.parse_special = true, .plain = plain, .one_bos = true});
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  if (vocabulary.bos && vocabulary.add_bos &&
      std::find(prompt.ids.begin(), prompt.ids.end(), *vocabulary.bos) == prompt.ids.end()) {
    prompt.ids.insert(prompt.ids.begin(), *vocabulary.bos);
    prompt.added_bos = true;
  }
  return prompt;
}

}  // namespace fathom::codec

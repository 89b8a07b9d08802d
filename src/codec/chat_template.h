// A conversation to a prompt: the template of a model, rendered with the model's special tokens.
// Called by api and apps. Read next: codec/chat_template.cc, codec/jinja_template.h;
// docs/templates.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/conversation.h"
#include "codec/jinja_template.h"
#include "codec/tokenizer.h"

namespace fathom::codec {

// Thread rule: any thread; rendering does not change it.
class ChatTemplate {
 public:
  // `name`: "" for the model's own template ("tool_use" for conversations with tools, where it has
  // one of that name), a name among the model's, or a built-in format. Errors: kUnsupported when
  // the model has none, kInvalidArgument for a name that is neither (all names are listed), and
  // those of jinja::Template::parse.
  static ChatTemplate of_model(const Vocabulary& vocabulary, std::string_view name = {});

  // A template from elsewhere; `name` for messages. Errors: those of jinja::Template::parse.
  static ChatTemplate of_source(const Vocabulary& vocabulary, std::string_view source,
                                std::string name);

  // A file's name or text may not be known as a name before: whether of_model would find it.
  static bool has_name(const Vocabulary& vocabulary, std::string_view name);

  // The prompt with the origin of every byte. Contents that the template does not know in their
  // form (a list of parts, or a bare text) are given in the other one. With
  // continue_final_message it ends where the last message's content ends. Errors: those of
  // jinja::Template::render; kInvalidArgument where there is nothing to continue.
  [[nodiscard]] jinja::Rendered render(const Conversation& conversation,
                                       const jinja::RenderOptions& options = {}) const;

  // The template that a conversation is rendered with: "default", "tool_use", "chatml", a file.
  [[nodiscard]] const std::string& name_for(const Conversation& conversation) const {
    return form_for(conversation).name;
  }

  // Whether a template speaks of the role "developer"; to others it is the system's.
  [[nodiscard]] bool knows_developer() const { return knows_developer_; }

 private:
  using TokenTexts = std::vector<std::pair<std::string_view, std::string>>;

  // One template, and the forms of content that come out of it as their text.
  struct Form {
    std::string name;
    jinja::Template source;
    bool takes_text = true;
    bool takes_parts = true;
  };

  explicit ChatTemplate(const Vocabulary& vocabulary);

  void add(std::string name, std::string_view source);
  [[nodiscard]] const Form& form_for(const Conversation& conversation) const;
  [[nodiscard]] jinja::Variables variables_for(const Conversation& conversation) const;
  [[nodiscard]] bool knows_content(const jinja::Template& source, std::string_view content) const;

  TokenTexts tokens_;        // "bos_token" and its text ...
  std::vector<Form> forms_;  // the chosen one; behind it maybe that for conversations with tools
  bool knows_developer_ = false;
};

// A prompt as ids.
struct EncodedPrompt {
  std::vector<TokenId> ids;
  bool added_bos = false;  // the first id is the tokenizer's, not written by the template
};

// Ids of a rendered prompt. Control tokens count where the template wrote them; what messages and
// other variables say is plain text. A role of the usual names counts as the template's, since many
// templates make a control token of it ("<|user|>"). Exactly one BOS at the begin where the
// template writes it or the tokenizer adds it; none where neither does. A template that writes BOS
// somewhere itself is not given another.
EncodedPrompt encode_rendered(const Tokenizer& tokenizer, const jinja::Rendered& rendered);

// Whether a part of a prompt may hold control tokens, as encode_rendered sees it.
bool is_structure(const jinja::Rendered& rendered, const jinja::Span& span);

}  // namespace fathom::codec

// Aligns tokens with the text by what each stands for; looks for the usual mistakes.
// Called by apps (inspect --prompt).
#include "api/prompt_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace fathom::api {

namespace {

using codec::TokenId;
using codec::TokenKind;
using codec::jinja::Origin;
using codec::jinja::Rendered;
using codec::jinja::Span;

bool is_control(const codec::Tokenizer& tokenizer, TokenId id) {
  return tokenizer.vocabulary().kinds[static_cast<size_t>(id)] == TokenKind::kControl;
}

// How far a token may be looked for where normalization has changed the text before it.
constexpr size_t kMaxSkip = 64;

// Gives every token its place in `text`. Tokens that the text does not hold get an empty one.
void place_tokens(std::string_view text, std::vector<PromptToken>& tokens) {
  size_t at = 0;
  for (PromptToken& token : tokens) {
    std::string_view bytes = token.bytes;
    if (!text.substr(at).starts_with(bytes) && bytes.starts_with(' ')) {
      bytes.remove_prefix(1);  // the blank that a tokenizer puts before a text
    }
    size_t found = at;
    if (!text.substr(at).starts_with(bytes)) {
      found = text.substr(0, std::min(text.size(), at + kMaxSkip + bytes.size())).find(bytes, at);
    }
    if (found == std::string_view::npos || bytes.empty()) {
      token.begin = token.end = at;
      continue;
    }
    token.begin = found;
    token.end = at = found + bytes.size();
  }
}

// The origins of all bytes of a token, each named once.
std::string origin_of(const Rendered& rendered, const PromptToken& token) {
  std::string names;
  auto span = std::upper_bound(rendered.spans.begin(), rendered.spans.end(), token.begin,
                               [](size_t at, const Span& s) { return at < s.begin + s.length; });
  std::set<uint32_t> seen;
  for (; span != rendered.spans.end() && span->begin < token.end; ++span) {
    if (seen.insert(span->origin).second) {
      names += (names.empty() ? "" : " + ") + describe_origin(rendered.origins[span->origin]);
    }
  }
  return names;
}

void name_origins(const codec::Tokenizer& tokenizer, PromptView& view) {
  for (size_t i = 0; i < view.tokens.size(); ++i) {
    PromptToken& token = view.tokens[i];
    if (token.begin == token.end) {
      token.origin = i == 0 && token.id == tokenizer.vocabulary().bos ? "tokenizer" : "?";
    } else {
      token.origin = origin_of(view.rendered, token);
    }
  }
}

// Control tokens' text in what users, documents and tools say.
void warn_of_control_text(const codec::Tokenizer& tokenizer, PromptView& view) {
  for (const Span& span : view.rendered.spans) {
    if (codec::is_structure(view.rendered, span)) {
      continue;
    }
    const auto text = std::string_view(view.rendered.text).substr(span.begin, span.length);
    std::set<TokenId> found;
    for (const TokenId id : tokenizer.encode(text, {.parse_special = true})) {
      if (is_control(tokenizer, id) && found.insert(id).second) {
        view.warnings.push_back(fmt::format(
            "{} holds the text of the control token {} (id {}); it is encoded as plain text",
            describe_origin(view.rendered.origins[span.origin]), tokenizer.bytes_of(id, true), id));
      }
    }
  }
}

void warn_of_bos(const codec::Tokenizer& tokenizer, PromptView& view) {
  const auto& vocabulary = tokenizer.vocabulary();
  if (!vocabulary.bos) {
    return;
  }
  const std::string bos = tokenizer.bytes_of(*vocabulary.bos, true);
  const std::string_view text = view.rendered.text;
  if (bos.empty() || !text.starts_with(bos)) {
    return;
  }
  if (text.substr(bos.size()).starts_with(bos)) {
    view.warnings.push_back(
        fmt::format("the chat template writes {} twice at the begin; one is kept", bos));
  } else if (vocabulary.add_bos) {
    view.warnings.push_back(fmt::format(
        "both the chat template and the tokenizer write {} at the begin; one is kept", bos));
  }
}

// Bytes of message `index`'s content in the prompt: begin of the first, end of the last.
std::pair<size_t, size_t> content_range(const Rendered& rendered, int64_t index) {
  std::pair<size_t, size_t> range{rendered.text.size(), 0};
  for (const Span& span : rendered.spans) {
    const Origin& origin = rendered.origins[span.origin];
    if (origin.kind == Origin::Kind::kMessage && origin.message == index && origin.path != "role") {
      range = {std::min(range.first, span.begin), std::max(range.second, span.begin + span.length)};
    }
  }
  return range;
}

// Every finished message of the assistant should end with a token that ends an answer: else the
// model was not taught to stop by what Fathom stops at.
void warn_of_missing_ends(const codec::Tokenizer& tokenizer,
                          const codec::Conversation& conversation, PromptView& view) {
  const std::vector<TokenId> ends = tokenizer.end_tokens();
  if (ends.empty()) {
    view.warnings.push_back("the model names no token that ends an answer");
    return;
  }
  const auto messages = nlohmann::json::parse(conversation.messages);
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool is_open = conversation.continue_final_message && i + 1 == messages.size();
    const auto [begin, end] = content_range(view.rendered, static_cast<int64_t>(i));
    if (messages[i].value("role", "") != "assistant" || is_open || end == 0) {
      continue;
    }
    size_t next = view.rendered.text.size();
    for (size_t other = i + 1; other < messages.size(); ++other) {
      next = std::min(next, content_range(view.rendered, static_cast<int64_t>(other)).first);
    }
    const bool has_end = std::any_of(
        view.tokens.begin(), view.tokens.end(), [&, from = end](const PromptToken& token) {
          return token.begin >= from && token.end <= next && token.begin < token.end &&
                 std::find(ends.begin(), ends.end(), token.id) != ends.end();
        });
    if (!has_end) {
      view.warnings.push_back(
          fmt::format("no end mark follows message {} of the assistant; the model would end its "
                      "answers with {}",
                      i, tokenizer.bytes_of(ends.front(), true)));
    }
  }
}

}  // namespace

std::string describe_origin(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::kMessage:
      return fmt::format("message {}{}{}", origin.message, origin.path.empty() ? "" : " ",
                         origin.path);
    case Origin::Kind::kVariable:
      return origin.path;
    case Origin::Kind::kTemplate:
      break;
  }
  return "template";
}

PromptView view_prompt(const codec::Tokenizer& tokenizer, const codec::ChatTemplate& chat,
                       const codec::Conversation& conversation) {
  PromptView view;
  view.template_name = chat.name();
  view.rendered = chat.render(conversation);
  for (const TokenId id : codec::encode_rendered(tokenizer, view.rendered)) {
    PromptToken& token = view.tokens.emplace_back();
    token.id = id;
    token.bytes = tokenizer.bytes_of(id, true);
    token.is_control = is_control(tokenizer, id);
  }
  place_tokens(view.rendered.text, view.tokens);
  name_origins(tokenizer, view);
  warn_of_control_text(tokenizer, view);
  warn_of_bos(tokenizer, view);
  warn_of_missing_ends(tokenizer, conversation, view);
  return view;
}

}  // namespace fathom::api

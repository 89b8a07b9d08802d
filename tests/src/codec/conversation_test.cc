// Conversations in every form that a chat API allows, and each wrong one.
// Called by ctest. Read next: src/codec/conversation.h.
#include "codec/conversation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using test::expect_error;

TEST(ConversationTest, MessagesKeepOrderAndText) {
  const std::vector<Message> messages = {{"user", "a \"b\"\n"}, {"assistant", ""}};
  const Conversation made = make_conversation(messages);
  EXPECT_EQ(made.messages,
            R"([{"role":"user","content":"a \"b\"\n"},{"role":"assistant","content":""}])");
  EXPECT_EQ(made.n_messages, 2);
  EXPECT_TRUE(made.has_texts);
  EXPECT_FALSE(made.has_parts);
  EXPECT_FALSE(made.has_tools());
}

TEST(ConversationTest, AListOrARequest) {
  const Conversation list = parse_conversation(R"([{"role":"user","content":"x"}])", "f");
  EXPECT_EQ(list.n_messages, 1);
  EXPECT_TRUE(list.add_generation_prompt);
  const Conversation request = parse_conversation(
      R"({"model":"m","messages":[{"content":[{"type":"text","text":"x"}],"role":"user","z":1.0}],
          "tools":[{"type":"function"}],"documents":null,"temperature":0,
          "chat_template_kwargs":{"enable_thinking":false},"continue_final_message":true})",
      "f");
  EXPECT_EQ(request.messages,
            R"([{"content":[{"type":"text","text":"x"}],"role":"user","z":1.0}])");
  EXPECT_EQ(request.n_messages, 1);
  EXPECT_EQ(request.tools, R"([{"type":"function"}])");
  EXPECT_TRUE(request.has_tools());
  EXPECT_EQ(request.documents, "null");
  EXPECT_EQ(request.variables, R"({"enable_thinking":false})");
  EXPECT_TRUE(request.continue_final_message);
  EXPECT_FALSE(request.add_generation_prompt);  // the default beside continue_final_message
  EXPECT_TRUE(request.has_parts);
  EXPECT_FALSE(request.has_texts);
}

// Members that are null are left out: templates would write "None".
TEST(ConversationTest, NullsOfMessagesAreLeftOut) {
  EXPECT_EQ(
      parse_conversation(R"([{"role":"assistant","content":null,"tool_calls":[{"id":null}]}])", "f")
          .messages,
      R"([{"role":"assistant","tool_calls":[{"id":null}]}])");
}

// Integers beyond 64 bits and the order of keys are the file's.
TEST(ConversationTest, ValuesAreKeptAsTheyAreWritten) {
  const Conversation request = parse_conversation(
      R"({"messages": [ {"role":"user","content":"x","n":18446744073709551616} ],
          "tools": [1e3, 123456789012345678901234567890], "tools": [ {"b":1,"a":2} ],
          "chat_template_kwargs": {"a":123456789012345678901234567890}})",
      "f");
  EXPECT_NE(request.messages.find("18446744073709551616"), std::string::npos);
  EXPECT_EQ(request.tools, R"([ {"b":1,"a":2} ])");  // the last of two, as JSON readers take it
  EXPECT_EQ(request.variables, R"({"a":123456789012345678901234567890})");
}

TEST(ConversationTest, AMessageALine) {
  const Conversation saved = parse_conversation(
      "{\"role\":\"user\",\"content\":\"a\"}\n\n{\"role\":\"assistant\",\"content\":\"b\"}\n", "f");
  EXPECT_EQ(saved.n_messages, 2);
  EXPECT_EQ(parse_conversation("\xEF\xBB\xBF[{\"role\":\"user\"}]", "f").n_messages, 1);  // a BOM
}

TEST(ConversationTest, VariablesOfTwoPlacesAreMerged) {
  EXPECT_EQ(merge_template_variables(R"({"a":1,"b":[2]})", R"({ "a" : 3 })"),
            R"({"a":1,"b":[2],"a":3})");  // the last counts
  EXPECT_EQ(merge_template_variables("{}", "{}"), "{}");
}

TEST(ConversationTest, WrongRequestsAreNamed) {
  struct Case {
    const char* json;
    std::vector<std::string_view> parts;
  };

  const std::string deep = std::string(300, '[') + std::string(300, ']');
  const std::vector<Case> cases = {
      {"", {"chat.json", "byte", "JSON"}},
      {"[{]", {"byte 3", "JSON"}},
      {"7", {"messages", "number"}},
      {"{}", {"messages", "nothing"}},
      {"[]", {"messages", "at least one message"}},
      {R"({"messages":"x"})", {"messages", "string", "list"}},
      {R"(["x"])", {"messages[0]", "string", "object"}},
      {R"([{"content":"x"}])", {"messages[0].role", "nothing"}},
      {R"([{"role":7}])", {"messages[0].role", "number"}},
      {R"([{"role":"user","content":7}])", {"messages[0].content", "number", "list of parts"}},
      {R"([{"role":"user","content":["x"]}])", {"messages[0].content[0]", "string"}},
      {R"({"messages":[{"role":"user"}],"tools":{}})", {"tools", "object", "list"}},
      {R"({"messages":[{"role":"user"}],"add_generation_prompt":1})",
       {"add_generation_prompt", "number", "true or false"}},
      {R"({"messages":[{"role":"user"}],"chat_template_kwargs":[]})",
       {"chat_template_kwargs", "array", "object"}},
      {R"({"messages":[{"role":"user"}],"chat_template_kwargs":{"messages":[]}})",
       {"chat_template_kwargs", "messages"}},
      {R"({"messages":[{"role":"user"}],"chat_template_kwargs":{"bos_token":"x"}})",
       {"bos_token", "model's own"}},
      {deep.c_str(), {"200 levels"}},
      {R"([{"role":"user","x":1e999}])", {"chat.json", "1e999"}},
      {R"({"messages":[{"role":"user"}],"continue_final_message":true,
           "add_generation_prompt":true})",
       {"continue_final_message", "add_generation_prompt"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.json);
    for (const std::string_view part : c.parts) {
      expect_error([&] { parse_conversation(c.json, "chat.json"); }, ErrorCode::kInvalidArgument,
                   {part});
    }
  }
}

TEST(ConversationTest, ContentsChangeTheirForm) {
  EXPECT_EQ(with_text_content(
                R"([{"role":"user","content":[{"type":"text","text":"a"},{"text":"b"}]},
                    {"role":"user","content":"c"},{"role":"tool","content":null}])"),
            R"([{"role":"user","content":"a\nb"},{"role":"user","content":"c"},)"
            R"({"role":"tool","content":null}])");
  EXPECT_EQ(with_part_content(R"([{"role":"user","content":"c"},{"role":"x","content":[]}])"),
            R"([{"role":"user","content":[{"type":"text","text":"c"}]},)"
            R"({"role":"x","content":[]}])");
  expect_error(
      [] {
        with_text_content(R"([{"role":"u","content":[{"type":"image_url","image_url":{}}]}])");
      },
      ErrorCode::kInvalidArgument, {"messages[0].content[0]", "image_url", "text only"});
}

}  // namespace
}  // namespace fathom::codec

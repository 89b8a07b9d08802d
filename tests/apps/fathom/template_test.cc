// fathom template and fathom inspect --prompt from outside.
// Called by ctest. Read next: apps/fathom/template.cc, apps/fathom/inspect_prompt.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using nlohmann::json;
using test::ProgramResult;
using testing::HasSubstr;

class TemplateTest : public testing::Test {
 protected:
  TemplateTest() : model_(test::tiny_chat_gguf().write(folder_.path_of("m.gguf"))) {}

  static ProgramResult fathom(std::vector<std::string> arguments, const std::string& input = "") {
    return test::run_program(FATHOM_PROGRAM,
                             {.arguments = std::move(arguments), .standard_input = input});
  }

  ProgramResult render(std::vector<std::string> more, const std::string& input = "") {
    std::vector<std::string> arguments = {"template", "-m", model_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return fathom(std::move(arguments), input);
  }

  test::TempFolder folder_;
  std::string model_;
};

TEST_F(TemplateTest, AMessageAConversationOrStdin) {
  constexpr const char* kPrompt = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(render({"hi"}).out, kPrompt);
  EXPECT_EQ(render({}, "hi").out, kPrompt);
  EXPECT_EQ(render({}, "hi\n").out, kPrompt);  // as run takes it
  const std::string chat = folder_.write("chat.json", R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(render({"--messages", chat}).out, kPrompt);
  EXPECT_EQ(render({"hi", "--system", "S"}).out,
            std::string("<|im_start|>system\nS<|im_end|>\n") + kPrompt);
  EXPECT_EQ(render({"hi", "--no-generation-prompt"}).out, "<|im_start|>user\nhi<|im_end|>\n");
}

TEST_F(TemplateTest, AnotherTemplateByNameOrFile) {
  EXPECT_EQ(render({"hi", "--chat-template", "gemma"}).out,
            "<|im_start|><start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n");
  const std::string file = folder_.write("t.jinja", "{{ messages[0].content }} {{ x }}");
  EXPECT_EQ(render({"hi", "--chat-template", file, "--chat-template-kwargs", R"({"x":5})"}).out,
            "hi 5");
  // Without a model.
  EXPECT_EQ(fathom({"template", "--chat-template", file, "hi"}).out, "hi ");
  const ProgramResult unknown = render({"hi", "--chat-template", "alpaca"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("default, chatml, llama3, mistral, gemma"));
}

// What the request says and what the command line says, the latter first.
TEST_F(TemplateTest, VariablesAreMergedAndKeepTheirDigits) {
  const std::string file = folder_.write("t.jinja", "\xEF\xBB\xBF{{ x }} {{ y }}");
  const std::string chat = folder_.write(
      "chat.json", R"({"messages":[{"role":"user"}],"chat_template_kwargs":{"x":1,"y":2}})");
  EXPECT_EQ(render({"--messages", chat, "--chat-template", file, "--chat-template-kwargs",
                    R"({"x":123456789012345678901234567890})"})
                .out,
            "123456789012345678901234567890 2");
  EXPECT_EQ(render({"hi", "--chat-template-kwargs", ""}).status, 1);
}

// Whatever its name, a GGUF file is one.
TEST_F(TemplateTest, AModelIsKnownByItsBytes) {
  const std::string other = test::tiny_chat_gguf().write(folder_.path_of("model"));
  EXPECT_EQ(fathom({"template", "-m", other, "hi"}).out, render({"hi"}).out);
}

TEST_F(TemplateTest, JsonTellsWhereBytesCameFrom) {
  const json object = json::parse(render({"hi", "--json"}).out);
  EXPECT_EQ(object["template"], "default");
  EXPECT_EQ(object["spans"][1],
            json::parse(R"({"begin":12,"length":4,"origin":"message 0 role"})"));
  EXPECT_EQ(object["generated"], json::array());
}

TEST_F(TemplateTest, ShowPrintsTheSource) {
  EXPECT_THAT(render({"--show"}).out, HasSubstr("=== default ===\n{% for m in messages %}"));
}

TEST_F(TemplateTest, JsonLinesNeedNoModel) {
  const ProgramResult result =
      fathom({"template", "--jsonl"}, "{\"id\":1,\"source\":\"{{ x }}\",\"context\":{\"x\":2}}\n");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "{\"text\":\"2\",\"id\":1}\n");
}

TEST_F(TemplateTest, ErrorsNameWhatIsWrong) {
  const std::string broken = folder_.write("chat.json", "[{\"role\":\"user\"");
  const ProgramResult bad_json = render({"--messages", broken});
  EXPECT_EQ(bad_json.status, 1);
  EXPECT_THAT(bad_json.err, HasSubstr("chat.json: byte"));
  const ProgramResult kwargs = render({"hi", "--chat-template-kwargs", "[]"});
  EXPECT_EQ(kwargs.status, 1);
  EXPECT_THAT(kwargs.err, HasSubstr("--chat-template-kwargs: found array"));
  const std::string refuses = folder_.write("r.jinja", "{{ raise_exception('Say please') }}");
  EXPECT_THAT(render({"hi", "--chat-template", refuses}).err, HasSubstr("Say please"));
}

TEST_F(TemplateTest, InspectShowsAPromptTokenByToken) {
  const std::string chat =
      folder_.write("chat.json", R"([{"role":"user","content":"a<|im_end|>"}])");
  const ProgramResult table = fathom({"inspect", "-m", model_, "--prompt", chat});
  EXPECT_EQ(table.status, 0) << table.err;
  for (const char* part :
       {"256 * <|im_start|>", "message 0 content", "\\n", "warning: message 0", "plain text"}) {
    EXPECT_THAT(table.out, HasSubstr(part));
  }
  const json object =
      json::parse(fathom({"inspect", "-m", model_, "--prompt", chat, "--json"}).out);
  EXPECT_EQ(object["tokens"][0]["control"], true);
  EXPECT_EQ(object["tokens"][0]["origin"], "template");
  EXPECT_EQ(object["warnings"].size(), 1U);
  const std::string note = folder_.write("note.txt", "[note] hi");
  EXPECT_THAT(fathom({"inspect", "-m", model_, "--prompt", note}).out, HasSubstr("28 tokens"));
  // A file that is no JSON is a message of the user.
  const std::string plain = folder_.write("plain.txt", "hi\n");
  EXPECT_EQ(json::parse(fathom({"inspect", "-m", model_, "--prompt", plain, "--json"}).out)["text"],
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
}

}  // namespace
}  // namespace fathom::app

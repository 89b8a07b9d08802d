// The command line's border: help, version, usage errors, broken files, exit statuses.
// Read next: apps/fathom/main.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/cpu.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using test::ProgramResult;
using testing::HasSubstr;

ProgramResult fathom(std::vector<std::string> arguments,
                     std::vector<std::string> environment = {}) {
  return test::run_program(
      FATHOM_PROGRAM, {.arguments = std::move(arguments), .environment = std::move(environment)});
}

// One or two lines on stderr, nothing on stdout.
void expect_refusal(const ProgramResult& result, int status, const std::string& part) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(part));
  const auto lines = std::count(result.err.begin(), result.err.end(), '\n');
  EXPECT_GE(lines, 1) << result.err;
  EXPECT_LE(lines, 2) << result.err;
}

TEST(MainTest, HelpAndVersionSucceed) {
  const ProgramResult help = fathom({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* part : {"run", "logits", "perplexity", "tokenize", "template", "inspect", "plan",
                           "bench", "serve", "FATHOM_ISA", "NO_COLOR", "Examples"}) {
    EXPECT_THAT(help.out, HasSubstr(part));
  }
  const ProgramResult version = fathom({"--version"});
  EXPECT_EQ(version.status, 0);
  for (const char* part : {"commit", "compiler", "built", "usable", "scalar"}) {
    EXPECT_THAT(version.out, HasSubstr(part));
  }
}

TEST(MainTest, EverySubcommandExplainsItself) {
  for (const char* command : {"run", "logits", "perplexity", "tokenize", "template", "inspect",
                              "plan", "bench", "serve"}) {
    const ProgramResult help = fathom({command, "--help"});
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("Example")) << command;
  }
}

TEST(MainTest, MisspelledVariablesAreRefused) {
  expect_refusal(fathom({"inspect", "--kernels"}, {"FATHOM_IAS=scalar"}), 2,
                 "FATHOM_IAS, which is no setting; the nearest one is FATHOM_ISA;");
  expect_refusal(fathom({"inspect", "--kernels"}, {"FATHOM_B=1", "FATHOM_API_KEY=k"}), 2,
                 "FATHOM_API_KEY, which is no setting; the nearest one is FATHOM_API_KEYS;");
  // Those of other subcommands, of builds, and of a service manager are no slips; help is always
  // given.
  EXPECT_EQ(fathom({"inspect", "--kernels"},
                   {"FATHOM_MAX_SEQUENCES=4", "FATHOM_WERROR=ON", "FATHOM_SERVICE_HOST=10.0.0.1",
                    "FATHOM_PORT_8080_TCP_ADDR=10.0.0.1"})
                .status,
            0);
  EXPECT_EQ(fathom({"--help"}, {"FATHOM_IAS=scalar"}).status, 0);
}

TEST(MainTest, WrongUsageGivesTwo) {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"nosuch"},
      {"run", "--nosuch"},
      {"run", "-p", "x"},
      {"run", "-m", "x", "-p", "x", "-t", "0"},
      {"run", "-m", "x", "-p", "x", "-t", "-1"},
      {"run", "-m", "x", "-p", "x", "-t", "two"},
      {"run", "-m", "x", "-p", "x", "-c", "0"},
      {"run", "-m", "x", "-p", "x", "-n", "0"},
      {"run", "-m", "x", "-p", "x", "-n", "-2"},
      {"run", "-m", "x", "-p", "x", "--temp", "-1"},
      {"run", "-m", "x", "-p", "x", "--temp", "nan"},
      {"run", "-m", "x", "-p", "x", "--temp", "hot"},
      {"run", "-m", "x", "-p", "x", "--top-p", "1.5"},
      {"run", "-m", "x", "-p", "x", "--top-p", "0"},
      {"run", "-m", "x", "-p", "x", "--top-k", "-1"},
      {"run", "-m", "x", "-p", "x", "--min-p", "2"},
      {"run", "-m", "x", "-p", "x", "--repeat-penalty", "0"},
      {"run", "-m", "x", "-p", "x", "--seed", "-5"},
      {"run", "-m", "x", "-p", "x", "--logprobs", "-1"},
      {"run", "-m", "x", "-p", "x", "--stop", ""},
      {"run", "-m", "x", "-p", "x", "--logit-bias", "5"},
      {"run", "-m", "x", "-p", "x", "--logit-bias", "a=1"},
      {"run", "-m", "x", "-p", "x", "--samplers", "top_k;xtc"},
      {"run", "-m", "x", "-p", "x", "--samplers", "temperature", "--top-k", "5"},
      {"run", "-m", "x", "-p", "x", "--kv-type", "q4_0"},
      {"run", "-m", "x", "-p", "x", "--attention", "fast"},
      {"run", "-m", "x", "-p", "x", "--compute", "f16"},
      {"run", "-m", "x", "-p", "x", "--chat-template", ""},
      {"run", "-m", "x", "-p", "x", "--continue-final-message"},
      {"run", "-m", "x", "-p", "x", "--messages", "y"},
      {"run", "-m", "x", "--ids", "1", "--chat-template", "chatml"},
      {"run", "-m", "x", "-p", "x", "--raw", "--chat-template", "chatml"},
      {"run", "-m", "x", "-p", "x", "-f", "y"},
      {"run", "-m", "x", "-p", "x", "--ids", "1"},
      {"run", "-m", "x", "--ids", "1,a"},
      {"run", "-m", "x", "--ids", "1,,2"},
      {"run", "-m", "x", "--ids", "-1"},
      {"run", "-m", "x", "--ids", "1", "--system", "y"},
      {"run", "-m", "x", "--ids", "1", "--raw"},
      {"run", "-m", "x", "-p", "x", "--raw", "--system", "y"},
      {"run", "-m", "x"},
      {"logits", "-m", "x", "--ids", "1"},
      {"run", "-m", "x", "-f", ""},
      {"run", "-m", "x", "-p", "x", "--system", "@"},
      {"logits", "-m", "x", "--out", "y"},
      {"logits", "-m", "x", "--ids", "1", "--out", ""},
      {"tokenize", "-m", "x", "text", "--jsonl"},
      {"inspect"},
      {"inspect", "--kernels", "-m", "x"},
      {"inspect", "--prompt", "x"},
      {"tokenize", "text"},
      {"tokenize", "-m", "x", "--pieces", "--json", "text"},
      {"template", "text"},
      {"template", "--show"},
      {"template", "-m", "x", "--jsonl"},
      {"template", "-m", "x", "text", "--messages", "y"},
      {"bench", "-m", "x", "-n", "0"},
      {"plan", "-m", "x", "-c", "-4"},
  };
  for (const auto& arguments : cases) {
    const ProgramResult result = fathom(arguments);
    EXPECT_EQ(result.status, 2) << testing::PrintToString(arguments) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("fathom: error: "));
    EXPECT_THAT(result.err, HasSubstr("--help"));
  }
}

TEST(MainTest, NumbersOfTokensSayTheirRange) {
  for (const char* n : {"2147483649", "99999999999999999999", "0", "-2", "1.5", "many"}) {
    const ProgramResult result = fathom({"run", "-m", "x", "-p", "x", "-n", n});
    EXPECT_EQ(result.status, 2) << n;
    EXPECT_THAT(result.err, HasSubstr("'" + std::string(n) + "' is no number of tokens")) << n;
    EXPECT_THAT(result.err, HasSubstr("expected 1 to 2147483648, or -1")) << n;
  }
  for (const char* n : {"-1", "1", "2147483648"}) {
    const ProgramResult result = fathom({"run", "-m", "nowhere", "-p", "x", "-n", n});
    EXPECT_EQ(result.status, 1) << n << result.err;
  }
}

TEST(MainTest, UnknownSubcommandsAreNamed) {
  expect_refusal(fathom({"nosuch"}), 2, "'nosuch'");
  expect_refusal(fathom({"--nosuch"}), 2, "'--nosuch'");
}

// A standard stream that came closed must not become the file that is written.
TEST(MainTest, ClosedStandardStreamsAreNotTakenByFiles) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const std::string out = folder.path_of("out.npy");
  const auto shell = [&](const std::string& command) {
    return test::run_program("/bin/sh", {.arguments = {"-c", command}});
  };
  const std::string program = FATHOM_PROGRAM;
  EXPECT_EQ(
      shell(program + " logits -m " + model + " --ids 1,2 -c 9999 --out " + out + " 0<&- 1>&- 2>&-")
          .status,
      0);
  EXPECT_EQ(test::read_text(out).size(),
            128 + 2 * 260 * sizeof(float));  // the warning is not in it
  EXPECT_EQ(shell(program + " run -m " + model + " --ids 1,2 -n 1 1>&-").status, 1);
}

// The longest file allowed: an error that says so, and nothing left over.
TEST(MainTest, TheFileSizeLimitIsAnError) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const std::string command = std::string("ulimit -f 1; exec ") + FATHOM_PROGRAM + " logits -m " +
                              model + " --ids 1,2,3,4,5 --out " + folder.path_of("out.npy");
  expect_refusal(test::run_program("/bin/sh", {.arguments = {"-c", command}}), 1, "too large");
  EXPECT_EQ(folder.names().size(), 1U);
}

TEST(MainTest, RefusedSamplersAreNamed) {
  expect_refusal(fathom({"run", "-m", "x", "-p", "x", "--samplers", "mirostat"}), 2, "mirostat");
}

TEST(MainTest, BrokenFilesGiveOne) {
  const test::TempFolder folder;
  const auto run = [](const std::string& path) {
    return fathom({"run", "-m", path, "-p", "hello", "-n", "1"});
  };
  expect_refusal(run(folder.path_of("missing.gguf")), 1, "missing.gguf");
  expect_refusal(run(folder.write("empty.gguf", "")), 1, "empty.gguf");
  expect_refusal(run(folder.write("foreign.gguf", "PK\003\004 a zip archive, not a model")), 1,
                 "foreign.gguf");
  expect_refusal(run(folder.write("short.gguf", "GGUF\003")), 1, "short.gguf");
  const std::string folder_without_config = folder.path_of("folder");
  ASSERT_EQ(::mkdir(folder_without_config.c_str(), 0700), 0);
  expect_refusal(run(folder_without_config), 1, "folder");
  const std::string fifo = folder.path_of("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_refusal(run(fifo), 1, "fifo");
}

TEST(MainTest, ATruncatedModelGivesOne) {
  const test::TempFolder folder;
  const std::vector<std::byte> whole = test::tiny_chat_gguf().bytes();
  for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{100}}) {
    const std::string path = folder.write("cut.gguf", std::span(whole).first(size));
    expect_refusal(fathom({"run", "-m", path, "-p", "x", "-n", "1"}), 1, "cut.gguf");
  }
}

TEST(MainTest, UnknownArchitecturesAreRefusedByName) {
  const test::TempFolder folder;
  const std::string path = test::tiny_chat_gguf()
                               .remove("general.architecture")
                               .set("general.architecture", "mamba")
                               .write(folder.path_of("m.gguf"));
  expect_refusal(fathom({"run", "-m", path, "-p", "x"}), 1, "mamba");
}

TEST(MainTest, AWrongIsaIsAnErrorAtStart) {
  const test::TempFolder folder;
  const std::string path = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  expect_refusal(fathom({"run", "-m", path, "-p", "x"}, {"FATHOM_ISA=sse9"}), 1, "sse9");
  int n_missing = 0;
  for (const Isa isa : kAllIsas) {  // those of the other processors at least
    if (!detect_cpu().has(isa)) {
      ++n_missing;
      const std::string name(name_of(isa));
      expect_refusal(fathom({"inspect", "--kernels"}, {"FATHOM_ISA=" + name}), 1, name);
    }
  }
  EXPECT_GE(n_missing, 3);
}

}  // namespace
}  // namespace fathom::app

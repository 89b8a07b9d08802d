// --trace and --check-nan from outside. Read next: apps/fathom/run_watch.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

test::ProgramResult run(const std::string& model, std::vector<std::string> flags) {
  std::vector<std::string> arguments = {"run",       "-m",     model, "--ids",
                                        "1,2,3,4,5", "--temp", "0",   "--ignore-eos"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    lines.push_back(line);
  }
  return lines;
}

TEST(RunWatchTest, TraceShowsOnePrefillAndOneDecodeStep) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const auto result = run(model, {"-n", "4", "--trace"});
  EXPECT_EQ(result.status, 0);
  const auto lines = lines_of(result.err);
  const auto count = [&](const std::string& start) {
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.starts_with(start); });
  };
  EXPECT_EQ(count("prefill step"), 1);
  EXPECT_EQ(count("decode step"), 1);
  EXPECT_GT(count("0 - "), 4);
  EXPECT_EQ(count("0 - "), count("1 - "));  // two layers, the same tensors
  EXPECT_EQ(count("2 - "), 0);
  EXPECT_THAT(lines, Contains(HasSubstr("[5, 64] - F32")));  // residual stream of the prompt
  EXPECT_THAT(lines, Contains(HasSubstr("[1, 64] - F32")));  // and of one token
}

// Heads whose sizes do not add up to the hidden size: every shape follows from the file.
TEST(RunWatchTest, TraceOfHeadsWiderThanTheHiddenSize) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf({.n_heads = 4, .n_kv_heads = 2, .head_dim = 32})
                                .write(folder.path_of("m.gguf"));
  const auto lines = lines_of(run(model, {"-n", "1", "--trace"}).err);
  EXPECT_THAT(lines, Contains(testing::MatchesRegex("0 - .*q.* - .5, 4, 32. - F32")));
  EXPECT_THAT(lines, Contains(testing::MatchesRegex("0 - .*k.* - .5, 2, 32. - F32")));
}

TEST(RunWatchTest, WatchingChangesNoToken) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const auto plain = run(model, {"-n", "6"});
  EXPECT_EQ(run(model, {"-n", "6", "--trace", "--check-nan"}).out, plain.out);
  EXPECT_THAT(plain.err, Not(HasSubstr(" - F32")));
}

// The bytes of a tiny model with the first row of blk.1.ffn_down.weight set to one value.
std::string planted(float value) {
  const auto builder = test::tiny_chat_gguf();
  const auto whole = builder.bytes();
  std::string bytes(reinterpret_cast<const char*>(whole.data()), whole.size());
  const auto file = builder.parse();
  const FileTensor* tensor = file->tensors.find("blk.1.ffn_down.weight");
  EXPECT_NE(tensor, nullptr);
  const std::string row(reinterpret_cast<const char*>(tensor->bytes.data()), 96 * sizeof(float));
  const size_t at = bytes.find(row);
  EXPECT_NE(at, std::string::npos);
  for (size_t i = 0; i < 96; ++i) {
    std::memcpy(bytes.data() + at + sizeof(float) * i, &value, sizeof(float));
  }
  return bytes;
}

// Values that are finite in the file and too large for the product.
TEST(RunWatchTest, CheckNanNamesLayerAndTensor) {
  const test::TempFolder folder;
  const std::string model = folder.write("m.gguf", planted(std::numeric_limits<float>::max()));
  for (const char* attention : {"flash", "eager"}) {
    const auto result =
        run(model, {"-n", "4", "--check-nan", "--compute", "f32", "--attention", attention});
    EXPECT_EQ(result.status, 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr("layer 1"));
    EXPECT_THAT(result.err, HasSubstr("'ffn_out'"));
  }
  const std::string sane = folder.write("sane.gguf", planted(0.01F));
  EXPECT_EQ(run(sane, {"-n", "4", "--check-nan", "--compute", "f32"}).status, 0);
}

// A NaN among the weights is found while they are packed.
TEST(RunWatchTest, ANanInTheFileIsNamedAtLoad) {
  const test::TempFolder folder;
  const std::string model =
      folder.write("nan.gguf", planted(std::numeric_limits<float>::quiet_NaN()));
  const auto result = run(model, {"-n", "4", "--check-nan"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("blk.1.ffn_down.weight"));
}

}  // namespace
}  // namespace fathom::app

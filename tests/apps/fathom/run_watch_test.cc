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

// A NaN in one weight of the second layer's down projection. F32 weights hold it past the loader
// only when the loader lets it pass; a scale that is NaN it refuses, naming the tensor.
TEST(RunWatchTest, CheckNanNamesLayerAndTensor) {
  const test::TempFolder folder;
  test::TinySizes sizes;
  const std::string model = [&] {
    // Largest floats: finite in the file, infinite after the product.
    auto builder = test::tiny_chat_gguf(sizes);
    return builder.write(folder.path_of("m.gguf"));
  }();
  std::string bytes = test::read_text(model);
  const auto file = test::tiny_chat_gguf(sizes).parse();
  const auto* tensor = file->tensors.find("blk.1.ffn_down.weight");
  ASSERT_NE(tensor, nullptr);
  const std::string needle(reinterpret_cast<const char*>(tensor->bytes.data()), 64);
  const size_t at = bytes.find(needle);
  ASSERT_NE(at, std::string::npos);
  for (size_t i = 0; i < 96; ++i) {  // the first row
    const float huge = std::numeric_limits<float>::max();
    std::memcpy(bytes.data() + at + 4 * i, &huge, 4);
  }
  const std::string planted = folder.write("planted.gguf", bytes);
  const auto result = run(planted, {"-n", "4", "--check-nan", "--compute", "f32"});
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("layer 1"));
  EXPECT_THAT(result.err, HasSubstr("ffn"));
  EXPECT_EQ(run(model, {"-n", "4", "--check-nan", "--compute", "f32"}).status, 0);
}

}  // namespace
}  // namespace fathom::app

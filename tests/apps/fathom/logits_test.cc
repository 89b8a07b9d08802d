// fathom logits: the file's form and its agreement with run. Read next: apps/fathom/logits.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using testing::HasSubstr;

struct Npy {
  std::string header;
  std::vector<float> values;
};

Npy read_npy(const std::string& path) {
  const std::string bytes = test::read_text(path);
  EXPECT_EQ(bytes.substr(0, 6), "\x93NUMPY");
  const size_t length =
      static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  Npy npy{bytes.substr(10, length), {}};
  npy.values.resize((bytes.size() - 10 - length) / 4);
  std::memcpy(npy.values.data(), bytes.data() + 10 + length, npy.values.size() * 4);
  return npy;
}

class LogitsTest : public testing::Test {
 protected:
  LogitsTest() : model_(test::tiny_chat_gguf().write(folder_.path_of("m.gguf"))) {}

  test::ProgramResult logits(const std::string& ids, const std::string& out,
                             std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"logits", "-m", model_, "--ids", ids, "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
  }

  test::TempFolder folder_;
  std::string model_;
};

TEST_F(LogitsTest, WritesOneRowPerToken) {
  const std::string out = folder_.path_of("out.npy");
  const auto result = logits("1,2,3", out);
  ASSERT_EQ(result.status, 0) << result.err;
  const Npy npy = read_npy(out);
  EXPECT_THAT(npy.header, HasSubstr("'shape': (3, 260)"));
  EXPECT_THAT(npy.header, HasSubstr("<f4"));
  EXPECT_EQ(npy.values.size(), 3U * 260U);
  EXPECT_EQ(folder_.names().size(), 2U);  // nothing temporary stays
}

// More ids than one chunk of logits holds.
TEST_F(LogitsTest, ChunksDoNotChangeTheBits) {
  std::string ids = "9";
  for (int i = 1; i < 150; ++i) {
    ids += "," + std::to_string(i * 7 % 256);
  }
  const std::string all = folder_.path_of("all.npy");
  const std::string part = folder_.path_of("part.npy");
  ASSERT_EQ(logits(ids, all).status, 0);
  ASSERT_EQ(logits("9,7,14", part, {"-t", "1"}).status, 0);
  const Npy whole = read_npy(all);
  const Npy start = read_npy(part);
  ASSERT_EQ(whole.values.size(), 150U * 260U);
  EXPECT_TRUE(std::equal(start.values.begin(), start.values.end(), whole.values.begin()));
}

// The last row says what run draws next.
TEST_F(LogitsTest, AgreesWithTheGreedyToken) {
  const std::string out = folder_.path_of("out.npy");
  ASSERT_EQ(logits("10,20,30", out, {"--compute", "f32"}).status, 0);
  const Npy npy = read_npy(out);
  const auto last = npy.values.end() - 260;
  const auto best = std::max_element(last, npy.values.end()) - last;
  const auto run = test::run_program(
      FATHOM_PROGRAM, {.arguments = {"run", "-m", model_, "--ids", "10,20,30", "-n", "1", "--temp",
                                     "0", "--ignore-eos", "--compute", "f32", "--json"}});
  EXPECT_EQ(nlohmann::json::parse(run.out)["tokens"][0], best);
}

// The rows go to the file as they come: they are in no plan, so they must not pile up.
TEST_F(LogitsTest, ManyRowsTakeNoMemory) {
  std::string ids = "9";
  for (int i = 1; i < 2500; ++i) {
    ids += ",9";
  }
  const std::string out = folder_.path_of("out.npy");
  const auto few = logits("9", out, {"-t", "1", "-c", "2500"});
  const auto many = logits(ids, out, {"-t", "1", "-c", "2500"});
  ASSERT_EQ(many.status, 0) << many.err;
  EXPECT_LT(many.peak_resident_bytes - few.peak_resident_bytes, int64_t{1} << 20);  // of 2.6 MB
}

TEST_F(LogitsTest, FailuresLeaveNoFile) {
  const std::string out = folder_.path_of("out.npy");
  EXPECT_EQ(logits("1,999", out).status, 1);
  EXPECT_EQ(logits("1,2,3,4,5", out, {"-c", "4"}).status, 1);
  EXPECT_EQ(logits("1", folder_.path_of("no/such/folder.npy")).status, 1);
  EXPECT_EQ(folder_.names().size(), 1U);
}

}  // namespace
}  // namespace fathom::app

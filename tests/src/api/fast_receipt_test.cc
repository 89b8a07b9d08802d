// The gate of `--arithmetic fast`: receipts written, read, believed or refused; a measurement.
#include "api/fast_receipt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "api/content_id.h"
#include "support/error_check.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

using test::expect_error;

FastReceipt a_receipt(double divergence) {
  return {.model_id = "abc",
          .model = "m.gguf",
          .divergence = divergence,
          .n_tokens = 510,
          .text_id = "def",
          .version = "1.0.0"};
}

TEST(FastReceipt, IsReadAsItWasWritten) {
  const test::TempFolder folder;
  const std::string place = folder.path_of("state/fathom/fast");
  EXPECT_EQ(read_fast_receipt(place, "abc"), std::nullopt);
  write_fast_receipt(place, a_receipt(0.00125));
  const auto found = read_fast_receipt(place, "abc");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->model, "m.gguf");
  EXPECT_EQ(found->rule, kFastRule);
  EXPECT_EQ(found->divergence, 0.00125);
  EXPECT_EQ(found->n_tokens, 510);
  EXPECT_EQ(found->text_id, "def");
  EXPECT_EQ(found->version, "1.0.0");
  EXPECT_EQ(read_fast_receipt(place, "other"), std::nullopt);
}

TEST(FastReceipt, ABrokenOrForeignOneIsNamed) {
  const test::TempFolder folder;
  const std::string path = folder.path_of("abc.json");
  for (const char* text : {"", "{", "[]", R"({"model_id": "abc"})", R"({"model_id": 7})"}) {
    std::ofstream(path) << text;
    expect_error([&] { (void)read_fast_receipt(folder.path_of(""), "abc"); },
                 ErrorCode::kCorruptFile, {"abc.json", "remove the file"});
  }
  write_fast_receipt(folder.path_of(""), a_receipt(0.001));
  std::filesystem::rename(path, folder.path_of("xyz.json"));
  expect_error([&] { (void)read_fast_receipt(folder.path_of(""), "xyz"); }, ErrorCode::kCorruptFile,
               {"found the receipt of model abc", "expected xyz"});
}

TEST(FastReceipt, AdmitsUpToTheLimit) {
  require_fast_receipt("m.gguf", a_receipt(0.0));
  require_fast_receipt("m.gguf", a_receipt(0.005));
  const std::string command = "fathom verify -m m.gguf --arithmetic fast -f TEXT";
  expect_error([&] { require_fast_receipt("m.gguf", std::nullopt); }, ErrorCode::kUnsupported,
               {"0.005", command});
  expect_error([&] { require_fast_receipt("m.gguf", a_receipt(0.0221)); }, ErrorCode::kUnsupported,
               {"0.02210", "0.005", "--arithmetic exact", command});
  expect_error(
      [&] { require_fast_receipt("m.gguf", a_receipt(std::numeric_limits<double>::quiet_NaN())); },
      ErrorCode::kUnsupported, {"nan"});
  FastReceipt old = a_receipt(0.001);
  old.rule = kFastRule - 1;
  expect_error([&] { require_fast_receipt("m.gguf", old); }, ErrorCode::kUnsupported,
               {"rule 0", command});
}

TEST(FastReceipt, MeasuresBothAndLeavesNoScratch) {
  const test::TempFolder folder;
  test::TinySizes sizes;
  sizes.weight_type = DType::kQ4_1;
  FastMeasurement job;
  job.session.model_path = test::tiny_chat_gguf(sizes).write(folder.path_of("m.gguf"));
  job.session.n_threads = 1;
  std::string text;
  for (int i = 0; text.size() < 1100; ++i) {
    text += std::to_string(i * i);
  }
  job.text = text;
  job.scratch_folder = folder.path_of("scratch");
  std::string runs;
  job.on_run = [&](std::string_view arithmetic) { runs += std::string(arithmetic) + " "; };
  const FastReceipt receipt = measure_fast(job);
  EXPECT_EQ(runs, "f32 fast ");
  EXPECT_EQ(receipt.n_tokens, 2 * 255);
  EXPECT_GT(receipt.divergence, 0.0);
  EXPECT_LT(receipt.divergence, 0.1);
  EXPECT_EQ(receipt.model_id, fast_model_id(job.session));
  EXPECT_EQ(receipt.text_id, text_content_id(text));
  EXPECT_TRUE(std::filesystem::is_empty(job.scratch_folder));
  const FastReceipt again = measure_fast(job);
  EXPECT_EQ(again.divergence, receipt.divergence);  // to the bit
  job.max_chunks = 1;
  EXPECT_EQ(measure_fast(job).n_tokens, 255);
}

TEST(FastReceipt, TheTextHasTheNameThatSha256sumGives) {
  EXPECT_EQ(text_content_id("abc"),  // FIPS 180-2, appendix B.1
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace fathom::api

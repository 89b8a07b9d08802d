// Tests of weights/model_file: the right reader for each path.
#include "weights/model_file.h"

#include <gtest/gtest.h>

#include "support/error_check.h"
#include "support/gguf_builder.h"
#include "support/safetensors_builder.h"
#include "support/temp_folder.h"

namespace fathom::weights {

namespace {

TEST(ModelFile, OpensAGgufFile) {
  const test::TempFolder folder;
  const auto path = test::GgufBuilder().set("a", uint32_t{1}).write(folder.path_of("m.gguf"));
  const auto model = open_model(path);
  EXPECT_EQ(model->metadata.source(), Source::kGguf);
  EXPECT_EQ(model->metadata.get_int("a"), 1);
  EXPECT_TRUE(model->tensors.tensors().empty());
}

TEST(ModelFile, OpensAFolderWithOrWithoutASlash) {
  const test::TempFolder folder;
  folder.write("config.json", R"({"model_type": "llama"})");
  folder.write("model.safetensors",
               test::SafetensorsBuilder().add("w", std::vector<int64_t>{1}, {1}).bytes());
  for (const std::string& path : {folder.path(), folder.path() + "//"}) {
    const auto model = open_model(path);
    EXPECT_EQ(model->metadata.source(), Source::kHuggingFace);
    EXPECT_EQ(model->metadata.path(), folder.path_of("config.json"));
  }
}

TEST(ModelFile, RefusesWhatIsNoModel) {
  const test::TempFolder folder;
  const auto text = folder.write("notes.txt", "These are notes.");
  test::expect_error([&] { open_model(text); }, ErrorCode::kCorruptFile,
                     {"notes.txt: byte 0: magic: found \"Thes\"", "config.json and safetensors"});
  test::expect_error([&] { open_model(folder.path_of("absent")); }, ErrorCode::kNotFound,
                     {"absent"});
  test::expect_error([&] { open_model("/dev/null"); }, ErrorCode::kInvalidArgument,
                     {"regular file"});
  test::expect_error([&] { open_model(""); }, ErrorCode::kNotFound, {"cannot open"});
}

}  // namespace

}  // namespace fathom::weights

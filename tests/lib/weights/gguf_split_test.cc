// Tests of weights/gguf_split: whole files, parts, and parts that do not belong together.
#include "weights/gguf_split.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/error_check.h"
#include "support/gguf_builder.h"
#include "support/temp_folder.h"

namespace fathom::weights {

namespace {

using test::expect_error;
using test::GgufBuilder;

class GgufSplit : public testing::Test {
 protected:
  // Part `number` (from 0) of `count`, with tensors of these names.
  static GgufBuilder part(uint16_t number, uint16_t count, int32_t n_tensors,
                          const std::vector<std::string>& names) {
    GgufBuilder file;
    file.set("split.no", number).set("split.count", count);
    file.set("split.tensors.count", n_tensors);
    if (number == 0) {
      file.set("general.architecture", "llama");
    }
    for (const std::string& name : names) {
      file.add_tensor(name, std::vector<int64_t>{2}, {1, static_cast<float>(number)});
    }
    return file;
  }

  void write(std::string_view name, const GgufBuilder& file) { file.write(folder_.path_of(name)); }

  // Three parts with a, b and c, d.
  void write_model() {
    write("m-00001-of-00003.gguf", part(0, 3, 4, {"a"}));
    write("m-00002-of-00003.gguf", part(1, 3, 4, {"b"}));
    write("m-00003-of-00003.gguf", part(2, 3, 4, {"c", "d"}));
  }

  void expect(std::string_view name, ErrorCode code,
              std::initializer_list<std::string_view> parts) {
    expect_error([&] { open_gguf(folder_.path_of(name)); }, code, parts);
  }

  test::TempFolder folder_;
};

TEST_F(GgufSplit, AFileWithoutPartsIsWhole) {
  write("m.gguf", GgufBuilder().set("a", uint32_t{1}));
  EXPECT_EQ(open_gguf(folder_.path_of("m.gguf"))->metadata.get_int("a"), 1);
  write("one.gguf", part(0, 1, 1, {"a"}));  // any name will do
  EXPECT_EQ(open_gguf(folder_.path_of("one.gguf"))->tensors.tensors().size(), 1U);
}

TEST_F(GgufSplit, AnyPartOpensAll) {
  write_model();
  for (const char* name :
       {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}) {
    const auto model = open_gguf(folder_.path_of(name));
    EXPECT_EQ(model->tensors.tensors().size(), 4U) << name;
    EXPECT_EQ(model->metadata.get_string("general.architecture"), "llama");
    EXPECT_EQ(model->metadata.path(), folder_.path_of("m-00001-of-00003.gguf"));
    const FileTensor* d = model->tensors.find("d");
    ASSERT_NE(d, nullptr);
    EXPECT_EQ(std::vector(d->bytes.begin(), d->bytes.end()),
              test::raw_bytes(std::vector<float>{1, 2}));
    EXPECT_EQ(model->tensors.file_of("b")->path(), folder_.path_of("m-00002-of-00003.gguf"));
  }
}

TEST_F(GgufSplit, AMissingPartIsNamed) {
  write_model();
  std::filesystem::remove(folder_.path_of("m-00002-of-00003.gguf"));
  expect("m-00003-of-00003.gguf", ErrorCode::kNotFound,
         {"m-00002-of-00003.gguf: no such file", "part 2 of 3", "download"});
}

TEST_F(GgufSplit, NamesAreThoseOfTheParts) {
  write("model.gguf", part(0, 3, 1, {"a"}));
  expect("model.gguf", ErrorCode::kCorruptFile,
         {"model.gguf", "part 1 of 3", "\"-00001-of-00003.gguf\""});
  write("m-00002-of-00003.gguf", part(0, 3, 1, {"a"}));
  expect("m-00002-of-00003.gguf", ErrorCode::kCorruptFile, {"part 1 of 3"});
}

TEST_F(GgufSplit, PartsBelongTogether) {
  write_model();
  write("m-00002-of-00003.gguf", part(2, 3, 4, {"b"}));
  expect("m-00001-of-00003.gguf", ErrorCode::kCorruptFile,
         {"m-00002-of-00003.gguf", "'split.no': found 2, expected 1"});
  write("m-00002-of-00003.gguf", part(1, 2, 4, {"b"}));
  expect("m-00001-of-00003.gguf", ErrorCode::kCorruptFile,
         {"m-00002-of-00003.gguf", "'split.count': found 2, expected 3"});
  write("m-00002-of-00003.gguf", GgufBuilder());
  expect("m-00001-of-00003.gguf", ErrorCode::kCorruptFile, {"'split.count': found 1, expected 3"});
  write("m-00002-of-00003.gguf", part(1, 3, 4, {"a"}));
  expect("m-00001-of-00003.gguf", ErrorCode::kCorruptFile,
         {"m-00002-of-00003.gguf: byte ", "tensor \"a\", name: found it a second time"});
}

TEST_F(GgufSplit, CountsAreChecked) {
  write_model();
  write("m-00001-of-00003.gguf", part(0, 3, 5, {"a"}));
  expect("m-00002-of-00003.gguf", ErrorCode::kCorruptFile,
         {"m-00001-of-00003.gguf", "'split.tensors.count': found 5, expected 4"});
  write("m.gguf", GgufBuilder().set("split.count", int32_t{-1}));
  expect("m.gguf", ErrorCode::kCorruptFile, {"'split.count': found -1, expected 0 to 65535"});
  write("m.gguf", GgufBuilder().set("split.count", uint32_t{1000000}));
  expect("m.gguf", ErrorCode::kCorruptFile, {"'split.count': found 1000000"});
  write("m.gguf", GgufBuilder().set("split.count", uint32_t{2}));
  expect("m.gguf", ErrorCode::kCorruptFile, {"'split.no' is missing"});
  write("m.gguf", part(2, 2, 1, {"a"}));
  expect("m.gguf", ErrorCode::kCorruptFile, {"'split.no': found 2, expected 0 to 1"});
  write("m.gguf", GgufBuilder().set("split.count", "two"));
  expect("m.gguf", ErrorCode::kCorruptFile, {"'split.count': found a string", "an integer"});
}

}  // namespace

}  // namespace fathom::weights

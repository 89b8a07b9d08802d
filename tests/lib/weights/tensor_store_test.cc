// Tests of weights/tensor_store: look-up, names that stand twice, release.
#include "weights/tensor_store.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::weights {

namespace {

TEST(TensorStore, FindsWhatWasAddedAndKeepsTheMapping) {
  const test::TempFolder folder;
  TensorStore store;
  const std::string text(3 * 4096, 'x');
  const MappedFile& file =
      store.add_file(std::make_unique<MappedFile>(folder.write("a.bin", text)));
  store.add({"w", DType::kI8, {3, 4096}, file.bytes()}, &file);
  ASSERT_NE(store.find("w"), nullptr);
  EXPECT_EQ(store.find("w")->n_rows(), 3);
  EXPECT_EQ(store.find("v"), nullptr);
  EXPECT_EQ(store.total_bytes(), text.size());
  store.release(*store.find("w"), store.find("w")->bytes);
  EXPECT_EQ(store.find("w")->bytes[8191], std::byte{'x'}) << "released bytes are read again";
}

TEST(TensorStore, ANameThatStandsTwiceNamesBothFiles) {
  const test::TempFolder folder;
  TensorStore store;
  const MappedFile& a = store.add_file(std::make_unique<MappedFile>(folder.write("a.bin", "1")));
  const MappedFile& b = store.add_file(std::make_unique<MappedFile>(folder.write("b.bin", "2")));
  store.add({"w", DType::kI8, {1}, a.bytes()}, &a);
  test::expect_error(
      [&] {
        store.add({"w", DType::kI8, {1}, b.bytes()}, &b);
      },
      ErrorCode::kCorruptFile, {"a.bin", "b.bin", "'w'"});
  test::expect_error(
      [&] {
        store.add({"w", DType::kI8, {1}, {}}, nullptr);
      },
      ErrorCode::kCorruptFile, {"bytes in memory"});
}

TEST(TensorStore, ReleaseOfCallersMemoryDoesNothing) {
  TensorStore store;
  std::vector<std::byte> memory(16384, std::byte{5});
  store.add({"w", DType::kI8, {16384}, memory}, nullptr);
  store.release(*store.find("w"), memory);
  EXPECT_EQ(memory[8192], std::byte{5});
}

}  // namespace

}  // namespace fathom::weights

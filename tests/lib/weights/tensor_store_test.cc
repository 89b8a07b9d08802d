// Tests of weights/tensor_store: look-up, names that stand twice, release.
#include "weights/tensor_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::weights {

namespace {

FileTensor tensor(std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  FileTensor result;
  result.name = "w";
  result.type = DType::kI8;
  result.shape = std::move(shape);
  result.bytes = bytes;
  return result;
}

TEST(TensorStore, FindsWhatWasAddedAndKeepsTheMapping) {
  const test::TempFolder folder;
  TensorStore store;
  const std::string text(3 * 4096, 'x');
  const MappedFile& file =
      store.add_file(std::make_unique<MappedFile>(folder.write("a.bin", text)));
  store.add(tensor({3, 4096}, file.bytes()), &file);
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
  store.add(tensor({1}, a.bytes()), &a);
  test::expect_error([&] { store.add(tensor({1}, b.bytes()), &b); }, ErrorCode::kCorruptFile,
                     {"a.bin", "b.bin", "'w'"});
  test::expect_error([&] { store.add(tensor({1}, {}), nullptr); }, ErrorCode::kCorruptFile,
                     {"bytes in memory"});
}

TEST(TensorStore, TellsTheFileOfATensor) {
  const test::TempFolder folder;
  TensorStore store;
  const MappedFile& a = store.add_file(std::make_unique<MappedFile>(folder.write("a.bin", "1")));
  store.add(tensor({1}, a.bytes()), &a);
  EXPECT_EQ(store.file_of("w"), &a);
  EXPECT_EQ(store.file_of("v"), nullptr);
}

TEST(TensorStore, RemovesATensor) {
  TensorStore store;
  const std::vector<std::byte> memory(1);
  store.add(tensor({1}, memory), nullptr);
  EXPECT_EQ(store.remove("w").bytes.data(), memory.data());
  EXPECT_EQ(store.find("w"), nullptr);
  EXPECT_NO_THROW(store.add(tensor({1}, memory), nullptr));
}

// Rows of 4 bytes each, none of which lies in memory.
class FourBytes final : public RowReader {
 public:
  void read_rows(int64_t /*first*/, int64_t n_rows, std::byte* out) const override {
    std::fill_n(out, n_rows * 4, std::byte{1});
  }

  [[nodiscard]] size_t file_bytes() const override { return 7; }
};

TEST(TensorStore, CountsTheFileBytesOfReaders) {
  TensorStore store;
  FileTensor computed = tensor({2, 4}, {});
  computed.reader = std::make_shared<FourBytes>();
  store.add(std::move(computed), nullptr);
  EXPECT_EQ(store.total_bytes(), 7U);
}

TEST(TensorStore, ReleaseOfCallersMemoryDoesNothing) {
  TensorStore store;
  std::vector<std::byte> memory(16384, std::byte{5});
  store.add(tensor({16384}, memory), nullptr);
  store.release(*store.find("w"), memory);
  EXPECT_EQ(memory[8192], std::byte{5});
}

}  // namespace

}  // namespace fathom::weights

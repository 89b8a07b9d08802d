// Tests of weights/npy: the bytes that numpy.save writes for the same matrix.
#include "weights/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::weights {

namespace {

TEST(Npy, WritesTheBytesOfNumpy) {
  const test::TempFolder folder;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  NpyWriter writer(folder.path_of("m.npy"), 2, 3);
  writer.write(std::span(values).first(4));
  writer.write(std::span(values).subspan(4));
  writer.commit();
  const std::string text = test::read_text(folder.path_of("m.npy"));
  // What numpy.save writes for float32 [[1, 2, 3], [4, 5, 6]].
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.append(128 - 10 - 1 - header.size(), ' ');
  const std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n";
  ASSERT_EQ(text.size(), 128 + 24U);
  EXPECT_EQ(text.substr(0, 128), expected);
  EXPECT_EQ(std::memcmp(text.data() + 128, values.data(), 24), 0);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"m.npy"})) << "no temporary file is left";
}

TEST(Npy, ShapesThatDoNotFitTheValues) {
  const test::TempFolder folder;
  const std::vector<float> values(6);
  NpyWriter small(folder.path_of("m"), 2, 2);
  test::expect_error([&] { small.write(values); }, ErrorCode::kInvalidArgument,
                     {"found 6 values", "[2, 2]"});
  NpyWriter large(folder.path_of("l"), 2, 4);
  large.write(values);
  test::expect_error([&] { large.commit(); }, ErrorCode::kInvalidArgument,
                     {"found 6 values", "[2, 4]"});
}

TEST(Npy, ImpossibleShapesAndFilesWithoutCommitLeaveNothing) {
  const test::TempFolder folder;
  for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{
           {-2, -3}, {int64_t{1} << 32, int64_t{1} << 32}, {int64_t{1} << 61, 1}}) {
    test::expect_error([&, r = rows, c = cols] { NpyWriter(folder.path_of("m"), r, c); },
                       ErrorCode::kInvalidArgument, {"found the shape"});
  }
  NpyWriter(folder.path_of("m"), 1, 1).write(std::vector<float>{1});
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace

}  // namespace fathom::weights

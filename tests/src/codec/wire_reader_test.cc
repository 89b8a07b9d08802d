// Messages written byte by byte: the examples of the encoding document, and broken ones.
// Called by ctest. Read next: src/codec/wire_reader.cc.
#include "codec/wire_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using std::string;

TEST(WireReader, ReadsEveryType) {
  // field 1: varint 150; field 2: "testing"; field 3: 1.0f; field 4: eight bytes
  const string message(
      "\x08\x96\x01\x12\x07testing\x1d\x00\x00\x80\x3f\x21\x01\x00\x00\x00\x00\x00\x00\x80", 26);
  WireReader reader(message, "t.model", 100);
  auto field = reader.next();
  EXPECT_EQ(field->number, 1u);
  EXPECT_EQ(field->integer, 150u);
  field = reader.next();
  EXPECT_EQ(field->number, 2u);
  EXPECT_EQ(field->type, WireField::Type::kBytes);
  EXPECT_EQ(field->bytes, "testing");
  EXPECT_EQ(reader.offset_of(*field), 105u);
  field = reader.next();
  EXPECT_EQ(field->type, WireField::Type::kFixed32);
  EXPECT_EQ(field->as_float(), 1.0f);
  field = reader.next();
  EXPECT_EQ(field->type, WireField::Type::kFixed64);
  EXPECT_EQ(field->integer, 0x8000000000000001u);
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(WireReader, NegativeNumbersHaveTenBytes) {
  const string message("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
  WireReader reader(message, "t.model");
  EXPECT_EQ(static_cast<int64_t>(reader.next()->integer), -1);
}

void expect_refused(const string& message, std::string_view says) {
  fathom::test::expect_error(
      [&] {
        WireReader reader(message, "t.model", 7);
        while (reader.next()) {
        }
      },
      ErrorCode::kCorruptFile, {"t.model: byte ", says});
}

TEST(WireReader, RefusesBrokenMessages) {
  expect_refused("\x08", "a number is cut off");
  expect_refused("\x08\x96", "a number is cut off");
  expect_refused(string("\x08") + string(11, '\xff'), "more than ten bytes");
  expect_refused("\x1d\x01\x02", "a number is cut off");
  expect_refused("\x12\x07test", "field 2 says 7 bytes, 4 are left");
  expect_refused(string("\x00\x01", 2), "no valid number");
  expect_refused("\x0b", "field 1 has the type 3");
  expect_refused("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "bytes, 0 are left");
}

}  // namespace
}  // namespace fathom::codec

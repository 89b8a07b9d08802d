// Origins of bytes while text is built, cut and mapped.
// Called by ctest.
#include "codec/jinja_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace fathom::codec::jinja {
namespace {

// "0:ab 2:c": each run with its origin.
std::string runs_of(const Value& string) {
  std::string out;
  for_each_run(string, [&](std::string_view piece, OriginId origin) {
    out += (out.empty() ? "" : " ") + std::to_string(origin) + ":" + std::string(piece);
  });
  return out;
}

Value mixed() {
  TextBuilder out;
  out.append("ab");
  out.append("", 9);
  out.append("c\u00e9", 2);
  out.append("d", 2);
  out.append("ef", 3);
  return out.take();
}

TEST(Text, MergesNeighboursOfOneOrigin) {
  const Value text = mixed();
  EXPECT_EQ(runs_of(text), "0:ab 2:c\u00e9d 3:ef");
  EXPECT_EQ(text.origin(), 2u);  // the first input
  TextBuilder single;
  single.append("a", 4);
  single.append("b", 4);
  const Value plain = single.take();
  EXPECT_TRUE(plain.as<StringObject>().runs.empty());
  EXPECT_EQ(plain.origin(), 4u);
}

TEST(Text, CutsAcrossRuns) {
  const Value text = mixed();
  EXPECT_EQ(runs_of(part_of(text, 1, 3)), "0:b 2:c");
  EXPECT_EQ(runs_of(part_of(text, 2, 6)), "2:c\u00e9d");
  EXPECT_EQ(runs_of(part_of(text, 5, 8)), "2:d 3:ef");
  EXPECT_EQ(part_of(text, 4, 4).text(), "");
  EXPECT_EQ(origin_at(text, 0), 0u);
  EXPECT_EQ(origin_at(text, 2), 2u);
  EXPECT_EQ(origin_at(text, 7), 3u);
  EXPECT_EQ(runs_of(map_runs(
                text, [](std::string_view piece) { return std::string(piece.size(), '.'); })),
            "0:.. 2:.... 3:..");
}

TEST(Text, CountsCharacters) {
  const Value text = Value::string("a\u00e9\u65e5\U0001F600z");
  EXPECT_EQ(length_of(text), 5);
  const size_t bytes[] = {0, 1, 3, 6, 10, 11};
  for (int64_t i = 0; i <= 5; ++i) {
    EXPECT_EQ(byte_of(text, i), bytes[i]);
  }
  EXPECT_EQ(char_before(text.text(), 10), 6u);
  std::string long_text;
  for (int64_t n = 0; n < 40; ++n) {  // every place within a word of eight bytes
    EXPECT_EQ(count_chars(long_text), n);
    long_text += n % 4 == 0 ? "\u00e9" : n % 4 == 1 ? "\u65e5" : n % 4 == 2 ? "z" : "\U0001F600";
  }
}

TEST(Text, GoesOnWithATextThatWasGivenAway) {
  TextBuilder out;
  out.start_with(Value::string("ab", 3));
  out.append("c", 3);
  out.append("d");
  Value text = out.take();
  EXPECT_EQ(text.text(), "abcd");
  EXPECT_EQ(text.origin(), 3u);
  out.start_with(std::move(text));
  out.append("e");
  const auto runs = out.runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].end, 3u);
  EXPECT_EQ(runs[1].end, 5u);
  EXPECT_EQ(runs[1].origin, kTemplateOrigin);
}

TEST(Text, RefusesTooMuch) {
  TextBuilder out(3);
  out.append("abc");
  EXPECT_THROW(out.append("d"), Error);
}

}  // namespace
}  // namespace fathom::codec::jinja

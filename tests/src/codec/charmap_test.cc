// A small double array built by hand, and blobs that no such array is.
// Called by ctest. Read next: src/codec/charmap.cc.
#include "codec/charmap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

// Units of darts-clone: label in the low byte, bit 8: a value hangs here, bits 10 up: offset. A
// value has bit 31 and the position of its replacement.
constexpr uint32_t node(uint32_t label, uint32_t offset, bool has_value) {
  return label | (has_value ? 1u << 8 : 0u) | offset << 10;
}

constexpr uint32_t value(uint32_t position) {
  return position | 1u << 31;
}

std::string blob_of(const std::vector<uint32_t>& units, const std::string& replacements) {
  const auto n_bytes = static_cast<uint32_t>(units.size() * 4);
  std::string blob(4, '\0');
  std::memcpy(blob.data(), &n_bytes, 4);
  blob.append(reinterpret_cast<const char*>(units.data()), n_bytes);
  return blob + replacements;
}

// "a" becomes "A"; "ab" becomes "(AB)". The root's children lie at 256 ^ label.
std::string two_entries() {
  std::vector<uint32_t> units(1024, 0);
  units[0] = node(0, 256, false);
  units[256 ^ 'a'] = node('a', 256, true);    // its children: (256 ^ 'a') ^ 256 ^ label
  const uint32_t base_a = (256 ^ 'a') ^ 256;  // 'a'
  units[base_a] = value(0);                   // label 0: the value
  units[base_a ^ 'b'] = node('b', 512, true);
  const uint32_t base_ab = (base_a ^ 'b') ^ 512;
  units[base_ab] = value(2);
  return blob_of(units, std::string("A\0(AB)\0", 7));
}

TEST(Charmap, FindsTheLongestAndTheShortest) {
  const Charmap map(two_entries(), "t: map");
  const auto longest = map.find_longest("abc");
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->size, 2u);
  EXPECT_EQ(longest->replacement, "(AB)");
  const auto shortest = map.find_shortest("abc");
  ASSERT_TRUE(shortest);
  EXPECT_EQ(shortest->size, 1u);
  EXPECT_EQ(shortest->replacement, "A");
  EXPECT_EQ(map.find_longest("ac")->replacement, "A");
  EXPECT_FALSE(map.find_longest("ba"));
  EXPECT_FALSE(map.find_longest(""));
  EXPECT_FALSE(map.find_longest(std::string_view("\0", 1)));
  EXPECT_FALSE(Charmap().find_longest("a"));
}

TEST(Charmap, UnitsOutOfTheArrayEndAMatch) {
  const Charmap far(blob_of({node(0, 4000, false)}, std::string(1, '\0')), "t: map");
  EXPECT_FALSE(far.find_longest("a"));
  std::vector<uint32_t> units(512, 0);
  units[0] = node(0, 256, false);
  units[256 ^ 'a'] = node('a', 256, true);
  units['a'] = value(99);  // no such replacement
  EXPECT_FALSE(Charmap(blob_of(units, "A"), "t: map").find_longest("a"));
}

TEST(Charmap, RefusesSizesThatDoNotFit) {
  for (const std::string& blob : {std::string(), std::string("abc"), std::string(4, '\0') + "abcd",
                                  std::string("\x03\0\0\0abcd", 8),
                                  std::string("\xFF\xFF\xFF\xFF"
                                              "abcd",
                                              8),
                                  std::string("\x04\0\0\0abcd", 8)}) {
    fathom::test::expect_error([&] { Charmap(blob, "t.model: map"); }, ErrorCode::kCorruptFile,
                               {"t.model: map", "character map"});
  }
}

}  // namespace
}  // namespace fathom::codec

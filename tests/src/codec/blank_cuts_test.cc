// Cuts before blanks, and the pieces that forbid them.
// Called by ctest. Read next: src/codec/blank_cuts.cc.
#include "codec/blank_cuts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fathom::codec {
namespace {

// The text cut up, with '_' for U+2581.
std::vector<std::string> cut(const BlankCuts& cuts, std::string text) {
  const auto replace = [](std::string in, const std::string& from, const std::string& to) {
    for (size_t at = in.find(from); at != std::string::npos; at = in.find(from, at + to.size())) {
      in.replace(at, from.size(), to);
    }
    return in;
  };
  text = replace(text, "_", "\u2581");
  std::vector<std::string> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = cuts.find_cut(text, begin);
    out.push_back(replace(text.substr(begin, end - begin), "\u2581", "_"));
    begin = end;
  }
  return out;
}

using Words = std::vector<std::string>;

TEST(BlankCuts, CutsBeforeEveryBlankWherePiecesBeginWithIt) {
  BlankCuts cuts;
  cuts.add_piece("\u2581the");
  cuts.add_piece("\u2581");
  EXPECT_EQ(cut(cuts, "_the_cat"), (Words{"_the", "_cat"}));
  EXPECT_EQ(cut(cuts, "__a"), (Words{"_", "_a"}));
  EXPECT_EQ(cut(cuts, "a"), Words{"a"});
  EXPECT_EQ(cut(cuts, ""), Words{});
}

TEST(BlankCuts, APieceAcrossABlankForbidsItsPlace) {
  BlankCuts cuts;
  cuts.add_piece("\u2581\u2581");     // a run of blanks stays whole
  cuts.add_piece("\u2581x.\u2581y");  // so does what stands after a stop
  cuts.add_piece("\u00e9\u2581");     // and after a letter of two bytes
  EXPECT_EQ(cut(cuts, "_a___b"), (Words{"_a", "___b"}));
  EXPECT_EQ(cut(cuts, "a._b_c"), (Words{"a._b", "_c"}));
  EXPECT_EQ(cut(cuts, "a\u00e9_b\u00e8_c"), (Words{"a\u00e9_b\u00e8", "_c"}));
}

}  // namespace
}  // namespace fathom::codec

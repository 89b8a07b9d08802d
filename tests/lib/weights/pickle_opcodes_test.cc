// Tests of weights/pickle_opcodes: names as Python's pickletools has them.
#include "weights/pickle_opcodes.h"

#include <gtest/gtest.h>

#include <set>

namespace fathom::weights {

namespace {

TEST(PickleOpcodes, NamesOfPython) {
  EXPECT_EQ(name_of_pickle_op('R'), "REDUCE");
  EXPECT_EQ(name_of_pickle_op('i'), "INST");
  EXPECT_EQ(name_of_pickle_op('o'), "OBJ");
  EXPECT_EQ(name_of_pickle_op(0x81), "NEWOBJ");
  EXPECT_EQ(name_of_pickle_op(0x84), "EXT4");
  EXPECT_EQ(name_of_pickle_op(static_cast<uint8_t>(PickleOp::kStackGlobal)), "STACK_GLOBAL");
  EXPECT_EQ(name_of_pickle_op(0x99), "");
  EXPECT_EQ(name_of_pickle_op(0), "");
}

TEST(PickleOpcodes, PythonHasSixtyEight) {
  std::set<std::string_view> names;
  for (int code = 0; code < 256; ++code) {
    names.insert(name_of_pickle_op(static_cast<uint8_t>(code)));
  }
  EXPECT_EQ(names.size(), 68U + 1U);  // and "" for the rest
}

}  // namespace

}  // namespace fathom::weights

// The opcodes of Python's pickle format, by number and name.
// Called by weights/pickle. Read next: pickle.cc. Source: CPython's Lib/pickletools.py.
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::weights {

// The opcodes that weights/pickle carries out: they build numbers, texts and containers.
enum class PickleOp : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

// "REDUCE", "INST" ... for every opcode that Python has, "" for bytes that are none.
std::string_view name_of_pickle_op(uint8_t code);

}  // namespace fathom::weights

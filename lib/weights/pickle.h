// Reads Python pickles as data: numbers, texts, containers, and calls that are noted, never made.
// Called by weights/torch_pickle. Read next: pickle.cc, pickle_opcodes.h, torch_pickle.cc.
// Source: CPython's Lib/pickletools.py (the opcodes and what they do to stack and memo).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weights/byte_reader.h"

namespace fathom::weights {

// A name that a pickle may speak of; every other one is refused.
struct PickleGlobal {
  std::string_view module;
  std::string_view name;
  bool makes_dict = false;  // calling it gives a dictionary; any other call is kept as a PickleCall
};

struct PickleRules {
  std::span<const PickleGlobal> globals;
  uint64_t budget_bytes = 0;  // of memory that the values may take
};

// Values are small handles; what they hold lies in the Pickle that they come from.
struct PickleNone {};

struct PickleLong {
  std::string_view bytes;  // an integer of more than 8 bytes, little endian
};

struct PickleGlobalRef {
  uint32_t index;  // into PickleRules::globals
};

struct PickleTuple {
  uint32_t begin;
  uint32_t size;
};

struct PickleList {
  uint32_t index;
};

struct PickleDict {
  uint32_t index;
};

struct PickleCall {
  uint32_t global;  // what the pickle asks to call
  PickleTuple args;
  uint32_t offset;  // of the REDUCE, from the start of the pickle
};

struct PicklePersistentId {
  PickleTuple id;  // one item
};

using PickleValue =
    std::variant<PickleNone, bool, int64_t, double, std::string_view, PickleLong, PickleGlobalRef,
                 PickleTuple, PickleList, PickleDict, PickleCall, PicklePersistentId>;

// "a dict", "a call", ... for errors.
std::string_view kind_of(const PickleValue& value);

// A pickle that was read. Containers may hold each other in a circle: walk them with a bound. Views
// of items hold while the Pickle lives and nothing is added to it.
class Pickle {
 public:
  using Pair = std::pair<PickleValue, PickleValue>;

  [[nodiscard]] const PickleValue& root() const { return root_; }

  [[nodiscard]] std::span<const PickleValue> items(PickleTuple tuple) const {
    return std::span(pool_).subspan(tuple.begin, tuple.size);
  }

  [[nodiscard]] std::span<const PickleValue> items(PickleList list) const {
    return lists_[list.index];
  }

  // Keys and values in the order in which they were set; a key may stand twice.
  [[nodiscard]] std::span<const Pair> pairs(PickleDict dict) const { return dicts_[dict.index]; }

  [[nodiscard]] const PickleValue& id(PicklePersistentId value) const {
    return pool_[value.id.begin];
  }

 private:
  friend class PickleMachine;

  PickleValue root_;
  std::vector<PickleValue> pool_;  // the items of tuples
  std::deque<std::vector<PickleValue>> lists_;
  std::deque<std::vector<Pair>> dicts_;
};

// Carries out the pickle that starts at the reader's place and leaves the reader behind its STOP.
// Texts point into the reader's bytes. Errors: kUnsupported (an opcode, a global or a call that is
// not on the list: nothing is ever executed), kCorruptFile (cut off, an empty stack, a memo entry
// that is not there, more than 1000 open marks, a size beyond the budget); each names file, byte
// offset and opcode.
Pickle read_pickle(ByteReader& reader, const PickleRules& rules);

}  // namespace fathom::weights

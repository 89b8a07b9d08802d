// Tests of weights/pickle: values of every kind, and pickles that ask for more than data.
#include "weights/pickle.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "support/error_check.h"
#include "support/pytorch_builder.h"

namespace fathom::weights {

namespace {

using namespace std::string_literals;  // texts with NUL bytes
using test::expect_error;
using test::PickleWriter;

constexpr PickleGlobal kGlobals[] = {{"collections", "OrderedDict", true}, {"torch", "rebuild"}};
constexpr PickleRules kRules = {kGlobals, 1 << 20};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A pickle and the text that its values point into.
struct Parsed {
  std::string text;
  Pickle pickle;
};

Parsed parse(std::string text) {
  Parsed parsed{std::move(text), {}};
  ByteReader reader(bytes_of(parsed.text), "m.bin");
  parsed.pickle = read_pickle(reader, kRules);
  EXPECT_EQ(reader.remaining(), 0U);
  return parsed;
}

void expect_refused(const std::string& text, ErrorCode code,
                    std::initializer_list<std::string_view> parts) {
  expect_error(
      [&] {
        ByteReader reader(bytes_of(text), "m.bin");
        (void)read_pickle(reader, kRules);
      },
      code, parts);
}

void expect_corrupt(const std::string& text, std::initializer_list<std::string_view> parts) {
  expect_refused(text, ErrorCode::kCorruptFile, parts);
}

void expect_unsupported(const std::string& text, std::initializer_list<std::string_view> parts) {
  expect_refused(text, ErrorCode::kUnsupported, parts);
}

template <class T>
T value(const std::string& text) {
  return std::get<T>(parse(text).pickle.root());
}

TEST(Pickle, Scalars) {
  EXPECT_TRUE(value<bool>("\x88."));
  EXPECT_FALSE(value<bool>("\x89."));
  EXPECT_TRUE(std::holds_alternative<PickleNone>(parse("N.").pickle.root()));
  EXPECT_EQ(value<int64_t>("K\xff."), 255);
  EXPECT_EQ(value<int64_t>("M\x01\x02."), 513);
  EXPECT_EQ(value<int64_t>("J\xfe\xff\xff\xff."), -2);
  EXPECT_EQ(value<int64_t>("\x8a\x00."s), 0);
  EXPECT_EQ(value<int64_t>("\x8a\x01\xff."s), -1);
  EXPECT_EQ(value<int64_t>("\x8a\x02\xff\x00."s), 255);
  EXPECT_EQ(value<int64_t>("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."s), INT64_MIN);
  EXPECT_EQ(value<double>("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s), 1.5);
}

TEST(Pickle, TextsOfEveryLength) {
  const Parsed parsed = parse(
      "\x80\x04\x95\x09\x00\x00\x00\x00\x00\x00\x00\x8c\x01"
      "aX\x02\x00\x00\x00zzU\x01"
      "bT\x01\x00\x00\x00"
      "c\x86\x86\x86."s);
  const auto outer = parsed.pickle.items(std::get<PickleTuple>(parsed.pickle.root()));
  EXPECT_EQ(std::get<std::string_view>(outer[0]), "a");
  const auto inner = parsed.pickle.items(std::get<PickleTuple>(outer[1]));
  EXPECT_EQ(std::get<std::string_view>(inner[0]), "zz");
  const auto last = parsed.pickle.items(std::get<PickleTuple>(inner[1]));
  EXPECT_EQ(std::get<std::string_view>(last[0]), "b");
  EXPECT_EQ(std::get<std::string_view>(last[1]), "c");
}

TEST(Pickle, LongIntegersKeepTheirBytes) {
  const Parsed parsed = parse("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
  EXPECT_EQ(std::get<PickleLong>(parsed.pickle.root()).bytes.size(), 10U);
}

TEST(Pickle, ListsAndDictionaries) {
  const Parsed parsed = parse(
      "](K\x01K\x02"
      "eK\x03"
      "a(}K\x07NsNN(NNt\x85\x85\x85t\x86.");
  const auto pair = parsed.pickle.items(std::get<PickleTuple>(parsed.pickle.root()));
  EXPECT_EQ(parsed.pickle.items(std::get<PickleList>(pair[0])).size(), 3U);
  const auto tuple = parsed.pickle.items(std::get<PickleTuple>(pair[1]));
  ASSERT_EQ(tuple.size(), 4U);
  const auto pairs = parsed.pickle.pairs(std::get<PickleDict>(tuple[0]));
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(std::get<int64_t>(pairs[0].first), 7);
}

TEST(Pickle, TheMemoGivesValuesAgain) {
  const Parsed parsed = parse("K\x05q\x00h\x00\x86."s);
  const auto pair = parsed.pickle.items(std::get<PickleTuple>(parsed.pickle.root()));
  EXPECT_EQ(std::get<int64_t>(pair[0]), 5);
  EXPECT_EQ(std::get<int64_t>(pair[1]), 5);
}

TEST(Pickle, CallsAreNotedAndNotMade) {
  const Parsed parsed = parse("ctorch\nrebuild\n(K\x01K\x02tR.");
  const auto call = std::get<PickleCall>(parsed.pickle.root());
  EXPECT_EQ(call.global, 1U);
  EXPECT_EQ(call.offset, 21U);
  EXPECT_EQ(parsed.pickle.items(call.args).size(), 2U);
}

TEST(Pickle, ACallOfADictionaryMakesOne) {
  const Parsed empty = parse("ccollections\nOrderedDict\n)R(K\x01Nu}b.");
  EXPECT_EQ(empty.pickle.pairs(std::get<PickleDict>(empty.pickle.root())).size(), 1U);
  const Parsed filled = parse("ccollections\nOrderedDict\n](](K\x01Ne(K\x02Nte\x85R.");
  const auto pairs = filled.pickle.pairs(std::get<PickleDict>(filled.pickle.root()));
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(std::get<int64_t>(pairs[1].first), 2);
}

TEST(Pickle, PersistentIds) {
  const Parsed parsed = parse("K\x07Q.");
  const auto id = std::get<PicklePersistentId>(parsed.pickle.root());
  EXPECT_EQ(std::get<int64_t>(parsed.pickle.id(id)), 7);
}

// C28: the forbidden global is named.
TEST(Pickle, OtherGlobalsAreRefusedByName) {
  expect_unsupported(
      "\x80\x02"
      "cos\nsystem\nX\x01\x00\x00\x00x\x85R."s,
      {"m.bin: byte 2: pickle opcode GLOBAL: found \"os.system\"", "code is never executed",
       "safetensors"});
  expect_unsupported("cbuiltins\neval\n.", {"found \"builtins.eval\""});
  expect_unsupported("c__builtin__\neval\n.", {"found \"__builtin__.eval\""});
  expect_unsupported("cposix\nsystem\n.", {"found \"posix.system\""});
  expect_unsupported("ctorch\nload\n.", {"found \"torch.load\""});
  expect_unsupported("\x80\x04\x8c\x02os\x8c\x06system\x93.",
                     {"byte 14: pickle opcode STACK_GLOBAL: found \"os.system\""});
  expect_unsupported("ccollections\nOrderedDict.update\n.", {"OrderedDict.update"});
  expect_unsupported("cos\nOrderedDict\n.", {"os.OrderedDict"});  // module and name belong together
  expect_unsupported("cos\nrebuild\n.", {"os.rebuild"});
}

TEST(Pickle, OtherOpcodesAreRefusedByName) {
  expect_unsupported("(S'ls'\nios\nsystem\n.", {"byte 1: pickle opcode STRING", "code is never"});
  expect_unsupported("(ios\nsystem\n.", {"byte 1: pickle opcode INST: found one that is refused"});
  expect_unsupported("(No.", {"byte 2: pickle opcode OBJ"});
  expect_unsupported("N)\x81.", {"byte 2: pickle opcode NEWOBJ: found one that is refused, 0x81"});
  expect_unsupported("\x82\x01.", {"pickle opcode EXT1"});
  expect_unsupported("N0.", {"byte 1: pickle opcode POP"});
  expect_unsupported("\xee.", {"byte 0: pickle opcode: found no opcode, 0xee"});
}

TEST(Pickle, CallsOfCallsAreRefused) {
  const std::string nested = "ctorch\nrebuild\n)R)R.";
  expect_unsupported(nested, {"byte 18: pickle opcode REDUCE: found a call called with a tuple"});
  expect_unsupported("ctorch\nrebuild\nNR.", {"found a global called with None"});
  expect_unsupported("X\x01\x00\x00\x00x)R."s, {"found a text called with a tuple"});
  expect_corrupt("ctorch\nrebuild\n)R}b.", {"pickle opcode BUILD: found a call, allowed a dict"});
}

TEST(Pickle, BrokenStacks) {
  expect_corrupt(".", {"byte 0: pickle opcode STOP: found 0 values on the stack, allowed 1"});
  expect_corrupt("t.", {"pickle opcode TUPLE: found no mark"});
  expect_corrupt("N\x87.", {"TUPLE3: found 1 values on the stack, allowed 3"});
  expect_corrupt("N(\x85.", {"TUPLE1: found 0 values"});  // not past the mark
  expect_corrupt("K\x01Na.", {"APPEND: found an integer, allowed a list"});
  expect_corrupt("a.", {"APPEND: found 0 values on the stack, allowed 2"});
  expect_corrupt("}NNNs.", {"SETITEM: found None, allowed a dict"});
  expect_corrupt("}(Nu.", {"SETITEMS: found 1 values, allowed pairs"});
  expect_corrupt("h\x01.", {"BINGET: found memo entry 1, allowed one of 0"});
  expect_corrupt("Nr\xff\xff\xff\x7f.", {"LONG_BINPUT: found memo entry 2147483647"});
  expect_corrupt("q\x00."s, {"BINPUT: found 0 values"});
  expect_corrupt("NN\x93.", {"STACK_GLOBAL: found None and None"});
  expect_corrupt("ccollections\nOrderedDict\nN\x85R.", {"REDUCE: found a dict made of None"});
  expect_corrupt("ccollections\nOrderedDict\n]Na\x85R.", {"found None in the list"});
  expect_corrupt(std::string(1001, '('), {"byte 1000: pickle opcode MARK", "open marks"});
  expect_unsupported("\x80\x06.", {"PROTO: found protocol 6"});
}

TEST(Pickle, SizesBeyondThePickle) {
  expect_corrupt(
      "X\xff\xff\xff\xff"
      "abc.",
      {"byte 5: text: found 4 bytes left", "4294967295 bytes"});
  expect_corrupt(
      "\x8a\x09"
      "12345678",
      {"text: found 8 bytes left"});
  expect_corrupt("ctorch", {"byte 1: module of a global: found no end of line"});
  expect_corrupt("c" + std::string(1000, 'm') + "\nx\n.", {"one within 200 bytes"});
  expect_corrupt("", {"byte 0: pickle opcode: found 0 bytes left"});
}

TEST(Pickle, MemoryHasABudget) {
  expect_corrupt(std::string(100'000, 'N') + ".", {"bytes of values", "at most 1048576"});
  expect_corrupt(std::string(100'000, '}') + ".", {"bytes of values"});
  // A jump of the memo, behind a text that is long enough to allow it.
  const std::string far = "X\x80\x38\x01\x00"s + std::string(80'000, 'x') + "r\x00\x30\x01\x00."s;
  expect_corrupt(far, {"bytes of values"});
}

TEST(Pickle, ContainersMayHoldThemselves) {
  const Parsed parsed = parse(
      "]q\x00h\x00"
      "a}q\x01h\x01h\x01s\x86."s);
  const auto pair = parsed.pickle.items(std::get<PickleTuple>(parsed.pickle.root()));
  EXPECT_EQ(parsed.pickle.items(std::get<PickleList>(pair[0])).size(), 1U);
}

TEST(Pickle, RandomBytesNeverCrash) {
  std::mt19937 random(4);
  const std::string whole = test::PytorchBuilder().add("w", {2}, {1, 2}).pickle();
  constexpr std::string_view kCommon =
      "(.GJKMNQRTUXabcehjqrstu}])\x85\x86\x87\x88\x89\x8a\x8c\x93\x94";
  int n_refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = i % 2 == 0 ? whole : std::string(random() % 30, '(');
    for (char& c : text) {
      if (i % 2 != 0 || random() % 40 == 0) {
        c = kCommon[random() % kCommon.size()];
      }
    }
    try {
      ByteReader reader(bytes_of(text), "m.bin");
      (void)read_pickle(reader, kRules);
    } catch (const Error&) {
      ++n_refused;
    }
  }
  EXPECT_GT(n_refused, 1000);
}

}  // namespace

}  // namespace fathom::weights

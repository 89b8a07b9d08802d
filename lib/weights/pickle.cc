// A stack machine for the opcodes that data needs: each reads its argument, checks the stack, and
// moves values. Called by weights/torch_pickle. Read next: torch_pickle.cc.
#include "weights/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>

#include "base/error.h"
#include "weights/pickle_opcodes.h"

namespace fathom::weights {

namespace {

constexpr size_t kMaxMarks = 1000;
constexpr size_t kMaxPickleBytes = size_t{64} << 20;  // so that 32 bits count everything in it
constexpr size_t kMaxNameBytes = 200;                 // of a module or a global
constexpr uint64_t kNodeBytes = 48;                   // of an empty list or dictionary
constexpr std::string_view kNoCode =
    "the names that a state_dict of tensors needs; code is never executed: take the model as "
    "safetensors";

}  // namespace

// One run over one pickle.
class PickleMachine {
 public:
  PickleMachine(ByteReader& reader, const PickleRules& rules)
      : reader_(reader), rules_(rules), start_(reader.offset()) {}

  Pickle run() {
    while (step()) {
      check_budget();
    }
    return std::move(out_);
  }

 private:
  // One opcode; false after STOP.
  bool step() {
    at_ = reader_.offset();
    if (at_ - start_ > kMaxPickleBytes) {
      fail_op("a pickle of more bytes", fmt::format("{}", kMaxPickleBytes));
    }
    const auto code = reader_.read<uint8_t>("pickle opcode");
    op_ = static_cast<PickleOp>(code);
    if (op_ == PickleOp::kStop) {
      out_.root_ = pop();
      return false;
    }
    if (!step_scalar() && !step_container() && !step_memo() && !step_object()) {
      const std::string_view name = name_of_pickle_op(code);
      fail_op(
          fmt::format("{}{:#04x}", name.empty() ? "no opcode, " : "one that is refused, ", code),
          "those that build numbers, texts, lists, dictionaries and tensors; code is never "
          "executed: take the model as safetensors",
          ErrorCode::kUnsupported);
    }
    return true;
  }

  bool step_scalar() {
    switch (op_) {
      case PickleOp::kNone:
        push(PickleNone{});
        return true;
      case PickleOp::kNewTrue:
        push(true);
        return true;
      case PickleOp::kNewFalse:
        push(false);
        return true;
      case PickleOp::kBinInt:
        push(int64_t{reader_.read<int32_t>("integer")});
        return true;
      case PickleOp::kBinInt1:
        push(int64_t{reader_.read<uint8_t>("integer")});
        return true;
      case PickleOp::kBinInt2:
        push(int64_t{reader_.read<uint16_t>("integer")});
        return true;
      case PickleOp::kLong1:
        push(read_long());
        return true;
      case PickleOp::kBinFloat:
        push(std::bit_cast<double>(__builtin_bswap64(reader_.read<uint64_t>("float"))));
        return true;
      case PickleOp::kBinUnicode:
      case PickleOp::kBinString:
        push(read_text(reader_.read<uint32_t>("text length")));
        return true;
      case PickleOp::kShortBinUnicode:
      case PickleOp::kShortBinString:
        push(read_text(reader_.read<uint8_t>("text length")));
        return true;
      case PickleOp::kProto:
        check_protocol(reader_.read<uint8_t>("protocol"));
        return true;
      case PickleOp::kFrame:
        reader_.read<uint64_t>("frame length");  // a hint for buffering
        return true;
      default:
        return false;
    }
  }

  bool step_container() {
    switch (op_) {
      case PickleOp::kMark:
        if (marks_.size() == kMaxMarks) {
          fail_op(fmt::format("more than {} open marks", kMaxMarks), "a flat structure");
        }
        marks_.push_back(stack_.size());
        return true;
      case PickleOp::kEmptyTuple:
        push(make_tuple(0));
        return true;
      case PickleOp::kTuple1:
      case PickleOp::kTuple2:
      case PickleOp::kTuple3:
        push(make_tuple(static_cast<size_t>(op_) - static_cast<size_t>(PickleOp::kTuple1) + 1));
        return true;
      case PickleOp::kTuple: {
        const size_t count = pop_mark();
        push(make_tuple(count));
        return true;
      }
      case PickleOp::kEmptyList:
        push(PickleList{index_of_next(out_.lists_)});
        return true;
      case PickleOp::kEmptyDict:
        push(PickleDict{index_of_next(out_.dicts_)});
        return true;
      case PickleOp::kAppend:
        append(1);
        return true;
      case PickleOp::kAppends:
        append(pop_mark());
        return true;
      case PickleOp::kSetItem:
        set_items(2);
        return true;
      case PickleOp::kSetItems:
        set_items(pop_mark());
        return true;
      default:
        return false;
    }
  }

  bool step_memo() {
    switch (op_) {
      case PickleOp::kBinGet:
        push(recall(reader_.read<uint8_t>("memo number")));
        return true;
      case PickleOp::kLongBinGet:
        push(recall(reader_.read<uint32_t>("memo number")));
        return true;
      case PickleOp::kBinPut:
        memorize(reader_.read<uint8_t>("memo number"));
        return true;
      case PickleOp::kLongBinPut:
        memorize(reader_.read<uint32_t>("memo number"));
        return true;
      case PickleOp::kMemoize:
        memorize(memo_.size());
        return true;
      default:
        return false;
    }
  }

  bool step_object() {
    switch (op_) {
      case PickleOp::kGlobal: {
        const std::string_view module = reader_.read_line(kMaxNameBytes, "module of a global");
        push(find_global(module, reader_.read_line(kMaxNameBytes, "name of a global")));
        return true;
      }
      case PickleOp::kStackGlobal: {
        const PickleValue name = pop();
        const PickleValue module = pop();
        if (!std::holds_alternative<std::string_view>(name) ||
            !std::holds_alternative<std::string_view>(module)) {
          fail_op(fmt::format("{} and {}", kind_of(module), kind_of(name)), "two texts");
        }
        push(find_global(std::get<std::string_view>(module), std::get<std::string_view>(name)));
        return true;
      }
      case PickleOp::kBinPersId:
        push(PicklePersistentId{make_tuple(1)});
        return true;
      case PickleOp::kReduce:
        call();
        return true;
      case PickleOp::kBuild:
        build();
        return true;
      default:
        return false;
    }
  }

  [[noreturn]] void fail_op(std::string_view found, std::string_view allowed,
                            ErrorCode code = ErrorCode::kCorruptFile) const {
    const std::string_view name = name_of_pickle_op(static_cast<uint8_t>(op_));
    const std::string field =
        name.empty() ? "pickle opcode" : fmt::format("pickle opcode {}", name);
    reader_.fail_at(at_, field, found, allowed, code);
  }

  void check_protocol(uint8_t protocol) const {
    if (protocol > 5) {
      fail_op(fmt::format("protocol {}", protocol), "0 to 5", ErrorCode::kUnsupported);
    }
  }

  std::string_view read_text(size_t n_bytes) {
    const std::span<const std::byte> raw = reader_.read_bytes(n_bytes, "text");
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

  // Two's complement, little endian, of any length.
  PickleValue read_long() {
    const std::string_view raw = read_text(reader_.read<uint8_t>("integer length"));
    if (raw.size() > 8) {
      return PickleLong{raw};
    }
    const bool is_negative = !raw.empty() && (static_cast<uint8_t>(raw.back()) & 0x80) != 0;
    uint64_t bits = is_negative ? ~uint64_t{0} : 0;
    for (size_t i = raw.size(); i > 0; --i) {
      bits = bits << 8 | static_cast<uint8_t>(raw[i - 1]);
    }
    return static_cast<int64_t>(bits);
  }

  [[nodiscard]] PickleGlobalRef find_global(std::string_view module, std::string_view name) const {
    for (size_t i = 0; i < rules_.globals.size(); ++i) {
      if (rules_.globals[i].module == module && rules_.globals[i].name == name) {
        return {static_cast<uint32_t>(i)};
      }
    }
    fail_op(in_quotes(fmt::format("{}.{}", module, name)), kNoCode, ErrorCode::kUnsupported);
  }

  void push(PickleValue value) { stack_.push_back(value); }

  // How many values stand above the innermost mark, which all are when there is none.
  [[nodiscard]] size_t n_above_mark() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }

  void check_above_mark(size_t count) const {
    if (count > n_above_mark()) {
      fail_op(fmt::format("{} values on the stack", n_above_mark()), fmt::format("{}", count));
    }
  }

  PickleValue pop() {
    check_above_mark(1);
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }

  // Removes the innermost mark and gives the number of values above it.
  size_t pop_mark() {
    if (marks_.empty()) {
      fail_op("no mark on the stack", "one");
    }
    const size_t count = n_above_mark();
    marks_.pop_back();
    return count;
  }

  template <class Nodes>
  uint32_t index_of_next(Nodes& nodes) {
    n_node_bytes_ += kNodeBytes;
    nodes.emplace_back();
    return static_cast<uint32_t>(nodes.size() - 1);
  }

  // Moves the top `count` values of the stack into a tuple.
  PickleTuple make_tuple(size_t count) {
    check_above_mark(count);
    const PickleTuple tuple = {static_cast<uint32_t>(out_.pool_.size()),
                               static_cast<uint32_t>(count)};
    const auto first = stack_.end() - static_cast<ptrdiff_t>(count);
    out_.pool_.insert(out_.pool_.end(), first, stack_.end());
    stack_.erase(first, stack_.end());
    return tuple;
  }

  // The top `count` values belong into the container below them.
  template <class Container>
  Container& container_below(size_t count, std::string_view kind) {
    check_above_mark(count + 1);
    PickleValue& below = stack_[stack_.size() - count - 1];
    auto* container = std::get_if<Container>(&below);
    if (container == nullptr) {
      fail_op(kind_of(below), kind);
    }
    return *container;
  }

  void append(size_t count) {
    auto& items = out_.lists_[container_below<PickleList>(count, "a list").index];
    const auto first = stack_.end() - static_cast<ptrdiff_t>(count);
    items.insert(items.end(), first, stack_.end());
    stack_.erase(first, stack_.end());
    n_node_bytes_ += count * sizeof(PickleValue);
  }

  void set_items(size_t count) {
    if (count % 2 != 0) {
      fail_op(fmt::format("{} values", count), "pairs of key and value");
    }
    auto& pairs = out_.dicts_[container_below<PickleDict>(count, "a dict").index];
    const size_t first = stack_.size() - count;
    for (size_t i = first; i < stack_.size(); i += 2) {
      pairs.emplace_back(stack_[i], stack_[i + 1]);
    }
    stack_.resize(first);
    n_node_bytes_ += count * sizeof(PickleValue);
  }

  [[nodiscard]] PickleValue recall(size_t number) const {
    if (number >= memo_.size()) {
      fail_op(fmt::format("memo entry {}", number), fmt::format("one of {}", memo_.size()));
    }
    return memo_[number];
  }

  // Writers count up from 0, so a number above the bytes read so far is damage.
  void memorize(size_t number) {
    if (number > at_ - start_) {
      fail_op(fmt::format("memo entry {}", number), fmt::format("at most {}", at_ - start_));
    }
    check_above_mark(1);
    if (number >= memo_.size()) {
      check_budget((number - memo_.size()) * sizeof(PickleValue));
      memo_.resize(number + 1);
    }
    memo_[number] = stack_.back();
  }

  void call() {
    const PickleValue args = pop();
    const PickleValue callable = pop();
    const auto* global = std::get_if<PickleGlobalRef>(&callable);
    const auto* tuple = std::get_if<PickleTuple>(&args);
    if (global == nullptr || tuple == nullptr) {
      fail_op(fmt::format("{} called with {}", kind_of(callable), kind_of(args)),
              "a global called with a tuple; code is never executed", ErrorCode::kUnsupported);
    }
    if (rules_.globals[global->index].makes_dict) {
      push(make_dict(*tuple));
    } else {
      push(PickleCall{global->index, *tuple, static_cast<uint32_t>(at_ - start_)});
    }
  }

  // OrderedDict() and, as Python 2 wrote it, OrderedDict([[key, value], ...]).
  PickleDict make_dict(PickleTuple args) {
    const PickleDict dict = {index_of_next(out_.dicts_)};
    if (args.size == 0) {
      return dict;
    }
    const PickleValue& only = out_.pool_[args.begin];
    const auto* list = std::get_if<PickleList>(&only);
    if (args.size != 1 || list == nullptr) {
      fail_op(fmt::format("a dict made of {} and {} more", kind_of(only), args.size - 1),
              "no argument, or a list of pairs");
    }
    for (const PickleValue& entry : out_.items(*list)) {
      const std::span<const PickleValue> pair = pair_of(entry);
      out_.dicts_[dict.index].emplace_back(pair[0], pair[1]);
    }
    n_node_bytes_ += out_.items(*list).size() * 2 * sizeof(PickleValue);
    return dict;
  }

  [[nodiscard]] std::span<const PickleValue> pair_of(const PickleValue& entry) const {
    std::span<const PickleValue> pair;
    if (const auto* list = std::get_if<PickleList>(&entry)) {
      pair = out_.items(*list);
    } else if (const auto* tuple = std::get_if<PickleTuple>(&entry)) {
      pair = out_.items(*tuple);
    }
    if (pair.size() != 2) {
      fail_op(fmt::format("{} in the list that a dict is made of", kind_of(entry)),
              "pairs of key and value");
    }
    return pair;
  }

  // Attributes of a dictionary, such as the versions of its modules, say nothing about tensors.
  void build() {
    container_below<PickleDict>(1, "a dict");
    stack_.pop_back();
  }

  // Whether all values and `more_bytes` to come may be held.
  void check_budget(uint64_t more_bytes = 0) const {
    const uint64_t n_values = stack_.size() + memo_.size() + out_.pool_.size();
    const uint64_t used = n_node_bytes_ + n_values * sizeof(PickleValue) + more_bytes;
    if (used > rules_.budget_bytes) {
      fail_op(fmt::format("{} bytes of values", used),
              fmt::format("at most {}; no real state_dict is this large", rules_.budget_bytes));
    }
  }

  ByteReader& reader_;
  const PickleRules& rules_;
  size_t start_;
  size_t at_ = 0;  // where the opcode stands
  PickleOp op_ = PickleOp::kStop;
  Pickle out_;
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::vector<PickleValue> memo_;
  uint64_t n_node_bytes_ = 0;
};

std::string_view kind_of(const PickleValue& value) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "None",     "a bool",  "an integer", "a float", "a text", "a long integer",
      "a global", "a tuple", "a list",     "a dict",  "a call", "a persistent id"};
  static_assert(kNames.size() == std::variant_size_v<PickleValue>);
  return kNames[value.index()];
}

Pickle read_pickle(ByteReader& reader, const PickleRules& rules) {
  return PickleMachine(reader, rules).run();
}

}  // namespace fathom::weights

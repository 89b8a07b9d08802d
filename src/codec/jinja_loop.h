// Macros, the variable `loop`, and the small objects that functions of templates make.
// Called by codec/jinja_runtime, codec/jinja_call, codec/jinja_functions. Read next:
// codec/jinja_object.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/jinja_operators.h"
#include "codec/jinja_runtime.h"

namespace fathom::codec::jinja {

// A macro, or the body of a call block.
class MacroObject : public SpecialObject {
 public:
  // `statement` belongs to the program. An empty name: a call block.
  MacroObject(const Stmt& statement, Ref<CallFrame> closure, std::string_view name)
      : statement_(statement), closure_(std::move(closure)), name_(name) {}

  [[nodiscard]] std::string_view type() const override { return "Macro"; }

  [[nodiscard]] bool is_callable() const override { return true; }

  Value call(Runtime& runtime, const Arguments& arguments) override;
  Value attribute(Runtime& runtime, std::string_view name) override;
  [[nodiscard]] std::string print() const override;

 private:
  const Stmt& statement_;
  Ref<CallFrame> closure_;
  std::string_view name_;
};

// `loop`: where a for loop stands. Looks one item ahead only when it is asked to.
class LoopObject : public SpecialObject {
 public:
  // `closure`: the frame around a recursive loop.
  LoopObject(Runtime& runtime, const Value& source, const Stmt& statement, Ref<CallFrame> closure,
             int64_t depth)
      : source_(source),
        items_(runtime, source),
        statement_(statement),
        closure_(std::move(closure)),
        depth_(depth) {}

  // The next item; false at the end.
  bool advance(Runtime& runtime, Value& item);

  [[nodiscard]] std::string_view type() const override { return "LoopContext"; }

  [[nodiscard]] bool is_callable() const override { return true; }

  Value attribute(Runtime& runtime, std::string_view name) override;
  Value call(Runtime& runtime, const Arguments& arguments) override;
  [[nodiscard]] std::string print() const override;

  Value cycle(Runtime& runtime, const Arguments& arguments) const;
  Value changed(Runtime& runtime, const Arguments& arguments);

 private:
  const Value& peek();
  int64_t length();

  Value source_;
  Iteration items_;
  const Stmt& statement_;
  Ref<CallFrame> closure_;
  int64_t depth_;
  int64_t index_ = -1;   // from 0
  int64_t length_ = -1;  // -1: not asked yet
  bool has_rest_ = false;
  std::vector<Value> rest_;  // what was read to count an iterator, last item first
  bool has_after_ = false;
  Value before_, current_, after_, last_changed_;  // kMissing for none
};

}  // namespace fathom::codec::jinja

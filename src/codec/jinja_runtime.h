// Runs a resolved template: statements and expressions, calls, limits.
// Called by codec/jinja_template and, for what they need back, by the built-ins. Read next:
// codec/jinja_operators.h, codec/jinja_builtins.h.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/jinja_ast.h"
#include "codec/jinja_object.h"
#include "codec/jinja_text.h"

namespace fathom::codec::jinja {

struct Limits;

// What can be part of a cycle of references: emptied at the end of a render.
class Tracked : public Object {
 public:
  Tracked() = default;
  ~Tracked() override;
  void track(Tracked& head);
  void untrack();

  virtual void drop() {}

  [[nodiscard]] Tracked* next() const { return next_; }

 private:
  Tracked* next_ = this;  // a ring
  Tracked* previous_ = this;
};

// The variables of one call.
struct CallFrame : Tracked {
  Ref<CallFrame> parent;  // of the function around, as macros see the variables around them
  std::vector<Value> slots;

  void drop() override;
};

struct NamespaceObject : Tracked {
  DictObject attributes;

  void drop() override { attributes = DictObject(); }
};

class Runtime {
 public:
  // `context` has a value (or kMissing) for each of the program's context names. All arguments must
  // outlive the runtime. One thread.
  Runtime(const Program& program, const Limits& limits, std::vector<Value> context,
          const std::tm& now, int microsecond);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  // Runs the whole template; once.
  void run(TextBuilder& out);

  // Byte ranges of the output that stood in generation blocks of the top level.
  [[nodiscard]] const std::vector<std::pair<size_t, size_t>>& generated() const {
    return generated_;
  }

  // --- for the built-ins

  // Counts work. Error: kResourceExhausted when the render has done too much.
  void charge(size_t n_steps) {
    n_steps_ += n_steps;
    if (n_steps_ > max_steps_) {
      refuse_steps();
    }
  }

  // Error kInvalidArgument: "chat template, line N: what".
  [[noreturn]] void refuse(std::string_view what) const;
  // The same with the message of an undefined value.
  [[noreturn]] void refuse_undefined(const Value& undefined) const;
  // The template's own sentence comes first.
  [[noreturn]] void refuse_by_template(std::string_view sentence) const;

  Value call(const Value& callee, const Arguments& arguments);
  Value call_filter(std::string_view name, const Value& self, const Arguments& arguments);
  bool call_test(std::string_view name, const Value& self, const Arguments& arguments);

  // object.name, object[key] and object[a:b:c] as the sandbox of jinja2 has them.
  Value attribute(const Value& object, std::string_view name);
  Value item(const Value& object, const Value& key);

  Value make_namespace(DictObject attributes);
  Value render_block(std::string_view name);
  [[nodiscard]] bool has_block(std::string_view name) const;

  [[nodiscard]] const std::tm& now() const { return now_; }

  [[nodiscard]] int microsecond() const { return microsecond_; }

  // Counts levels of evaluation, so that no template reaches the end of the stack.
  class Deeper {
   public:
    explicit Deeper(Runtime& runtime) : runtime_(runtime) {
      if (++runtime_.depth_ > kMaxDepth) {
        --runtime_.depth_;
        runtime_.refuse_depth();
      }
    }

    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

    ~Deeper() { --runtime_.depth_; }

   private:
    Runtime& runtime_;
  };

 private:
  friend class MacroObject;
  friend class LoopObject;

  enum class Flow { kNormal, kBreak, kContinue };
  static constexpr int kMaxDepth = 800;

  [[noreturn]] void refuse_steps() const;
  [[noreturn]] void refuse_depth() const;

  // codec/jinja_runtime.cc: statements
  Flow run(const Body& body);
  Flow run(const Stmt& statement);
  Flow run_for(const Stmt& statement, const Value& iterable, int64_t depth);
  Flow run_region(const Stmt& statement);
  void run_set_block(const Stmt& statement, Flow& flow);
  void run_block(const Stmt& statement);
  void enter(const ScopeInfo& scope);
  void leave(const ScopeInfo& scope);
  void assign(const Expr& target, Value value);
  void release(const Expr& target, const Value& value);
  void unpack(const Expr& target, const Value& value);
  void write(const Value& value);
  void write_text(const Value& value);
  Value loop_source(const Stmt& statement, const Value& iterable);
  Value run_recursive(const Stmt& statement, const Ref<CallFrame>& closure, const Value& iterable,
                      int64_t depth);
  Value run_macro(const Stmt& statement, const Ref<CallFrame>& closure, const Arguments& arguments,
                  std::string_view name);
  void bind_macro(const Stmt& statement, const Arguments& arguments, std::string_view name,
                  CallFrame& frame);
  Value make_macro(const Stmt& statement, std::string_view name);
  Ref<CallFrame> make_frame(uint32_t n_slots, Ref<CallFrame> parent);

  Value& slot(const Place& place) {
    CallFrame* frame = frame_.get();
    for (uint32_t up = place.up; up > 0; --up) {
      frame = frame->parent.get();
    }
    return frame->slots[place.slot];
  }

  // The value of a name, which may be undefined.
  const Value& name_value(const Expr& expr) {
    const Value& value = slot(expr.place);
    return value.is_missing() ? expr.constant : value;
  }

  // codec/jinja_attribute.cc
  Value known_attribute(const Value& object, const AttributeInfo& info, std::string_view name);
  Value own_attribute(const Value& object, std::string_view name);

  // codec/jinja_eval.cc, codec/jinja_eval_call.cc: expressions
  const Value& borrow(const Expr& expr, Value& keep);
  const Value& borrow_member(const Expr& expr, Value& keep);
  const Value& borrow_owner(const Expr& expr, Value& keep);

  // Whether an expression is true, for if, elif and the operators that only ask that.
  bool holds(const Expr& expr) {
    return expr.is_text_test ? passes_text_test(expr) : holds_any(expr);
  }

  bool holds_any(const Expr& expr);
  bool compares(const Expr& expr);
  bool passes_text_test(const Expr& expr);
  bool compares_two(const Expr& expr);
  bool is_among(const std::vector<ExprPtr>& constants, const Value& value);
  Value eval(const Expr& expr);
  Value eval_binary(const Expr& expr);
  Value eval_growth(const Expr& target, const Expr& expr);
  Value eval_condition(const Expr& expr);
  Value eval_concat(const Expr& expr);
  Value eval_dict(const Expr& expr);
  std::vector<Value> eval_parts(const Expr& expr);
  Value eval_slice(const Expr& expr);
  Value eval_call(const Expr& expr, const Value* caller);
  Value eval_filter(const Expr& expr, const Value* block_text);
  Value eval_test(const Expr& expr);

  struct Collected {
    ShortList positional;
    std::vector<Keyword> keywords;

    [[nodiscard]] Arguments view() const { return {positional.view(), keywords}; }
  };

  Collected eval_arguments(const CallArguments& call, const Value* caller);
  Value charged(Value value);

  // Runs something with its output in a buffer of its own.
  template <class F>
  Value captured(F fn) {
    TextBuilder buffer;
    TextBuilder* outer = std::exchange(out_, &buffer);
    fn();
    out_ = outer;
    return buffer.take();
  }

  const Program& program_;
  std::vector<Value> context_;
  std::tm now_;
  int microsecond_;
  size_t max_steps_;
  size_t n_steps_ = 0;
  int depth_ = 0;
  int max_calls_;
  int n_calls_ = 0;  // macros and recursive loops within each other
  uint32_t line_ = 1;
  Tracked tracked_;
  Ref<CallFrame> frame_;
  TextBuilder* out_ = nullptr;
  TextBuilder* top_ = nullptr;
  std::vector<std::pair<size_t, size_t>> generated_;
};

}  // namespace fathom::codec::jinja

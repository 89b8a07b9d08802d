// Statements. A region's names are loaded when it is entered and forgotten when it is left.
#include "codec/jinja_runtime.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "codec/jinja_loop.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"
#include "codec/jinja_template.h"

namespace fathom::codec::jinja {

Tracked::~Tracked() {
  untrack();
}

void Tracked::untrack() {
  previous_->next_ = next_;
  next_->previous_ = previous_;
  next_ = this;
  previous_ = this;
}

void Tracked::track(Tracked& head) {
  next_ = head.next_;
  previous_ = &head;
  next_->previous_ = this;
  head.next_ = this;
}

void CallFrame::drop() {
  // Emptied before it is destroyed: what the values hold may lead back here.
  std::vector<Value> old = std::move(slots);
  slots.clear();
  Ref<CallFrame> outer = std::move(parent);
}

Runtime::Runtime(const Program& program, const Limits& limits, std::vector<Value> context,
                 const std::tm& now, int microsecond)
    : program_(program),
      context_(std::move(context)),
      now_(now),
      microsecond_(microsecond),
      max_steps_(limits.max_steps),
      max_calls_(limits.max_calls) {}

Runtime::~Runtime() {
  frame_ = {};
  context_.clear();
  while (tracked_.next() != &tracked_) {
    const auto held = Ref<Tracked>::share(tracked_.next());
    held->untrack();
    held->drop();
  }
}

void Runtime::refuse(std::string_view what) const {
  fail(ErrorCode::kInvalidArgument, fmt::format("chat template, line {}: {}", line_, what));
}

void Runtime::refuse_undefined(const Value& undefined) const {
  refuse(undefined.as<UndefinedObject>().message());
}

void Runtime::refuse_by_template(std::string_view sentence) const {
  fail(ErrorCode::kInvalidArgument,
       fmt::format("{} (the chat template refuses these messages, line {})", sentence, line_));
}

void Runtime::refuse_steps() const {
  fail(ErrorCode::kResourceExhausted,
       fmt::format(
           "chat template, line {}: more than {} steps; the template loops without end or the "
           "messages are too long",
           line_, max_steps_));
}

void Runtime::refuse_depth() const {
  fail(ErrorCode::kResourceExhausted,
       fmt::format(
           "chat template, line {}: nested too deep; a macro that calls itself without end or a "
           "value that holds itself",
           line_));
}

void Runtime::run(TextBuilder& out) {
  frame_ = make_frame(program_.n_slots, {});
  out_ = &out;
  top_ = &out;
  enter(program_.scope);
  run(program_.body);
}

Ref<CallFrame> Runtime::make_frame(uint32_t n_slots, Ref<CallFrame> parent) {
  Ref<CallFrame> frame(new CallFrame);
  frame->slots.resize(n_slots);
  frame->parent = std::move(parent);
  frame->track(tracked_);
  return frame;
}

void Runtime::enter(const ScopeInfo& scope) {
  for (size_t i = 0; i < scope.n_entered; ++i) {
    const Load& load = scope.loads[i];
    switch (load.from) {
      case Load::From::kParameter:
        break;
      case Load::From::kContext:
        frame_->slots[load.slot] = context_[load.context_name];
        break;
      case Load::From::kOuter:
        frame_->slots[load.slot] = slot(load.outer);
        break;
      case Load::From::kNothing:
        frame_->slots[load.slot] = {};
        break;
    }
  }
}

void Runtime::leave(const ScopeInfo& scope) {
  for (const Load& load : scope.loads) {
    frame_->slots[load.slot] = {};
  }
}

void Runtime::write(const Value& value) {
  if (value.is(Kind::kString)) {
    charge(value.text().size() / 16);
    out_->append(value);
  } else {
    const size_t before = out_->size();
    print(*this, *out_, value);
    charge((out_->size() - before) / 16);
  }
}

// What call and filter blocks give is not made text first, as jinja2 does not.
void Runtime::write_text(const Value& value) {
  if (!value.is(Kind::kString)) {
    refuse(fmt::format("sequence item 0: expected str instance, {} found", type_name(value)));
  }
  write(value);
}

Runtime::Flow Runtime::run(const Body& body) {
  // The branch of an if; null for none.
  const auto choose = [this](const Stmt& statement) -> const Body* {
    for (size_t i = 0; i < statement.exprs.size(); ++i) {
      if (holds(*statement.exprs[i])) {
        return &statement.bodies[i];
      }
    }
    return statement.bodies.size() > statement.exprs.size() ? &statement.bodies.back() : nullptr;
  };
  const Deeper deeper(*this);
  for (const StmtPtr& next : body) {
    const Stmt& statement = *next;
    charge(1);
    line_ = statement.line;
    Flow flow = Flow::kNormal;
    if (statement.kind != StmtKind::kIf) {
      flow = run(statement);
    } else if (const Body* chosen = choose(statement)) {
      flow = run(*chosen);
    }
    if (flow != Flow::kNormal) {
      return flow;
    }
  }
  return Flow::kNormal;
}

Runtime::Flow Runtime::run(const Stmt& statement) {
  switch (statement.kind) {
    case StmtKind::kText:
      charge(statement.text.size() / 16);
      out_->append(statement.text);
      break;
    case StmtKind::kOutput: {
      Value keep;
      write(borrow(*statement.exprs[0], keep));
      break;
    }
    case StmtKind::kIf:  // in run(Body)
      break;
    case StmtKind::kFor: {
      const Value iterable = eval(*statement.exprs[1]);
      if (!statement.is_recursive) {
        return run_for(statement, iterable, 0);
      }
      write(run_recursive(statement, frame_, iterable, 0));
      break;
    }
    case StmtKind::kSet:
      assign(*statement.exprs[0], statement.grows
                                      ? eval_growth(*statement.exprs[0], *statement.exprs[1])
                                      : eval(*statement.exprs[1]));
      break;
    case StmtKind::kMacro:
      assign(*statement.exprs[0], make_macro(statement, statement.text));
      break;
    case StmtKind::kCallBlock: {
      const Value caller = make_macro(statement, {});
      write_text(eval_call(*statement.exprs[0], &caller));
      break;
    }
    case StmtKind::kGeneration: {
      const Value text = run_macro(statement, frame_, {}, {});
      const size_t begin = out_->size();
      write(text);
      if (out_ == top_) {
        generated_.emplace_back(begin, out_->size());
      }
      break;
    }
    case StmtKind::kSetBlock:
    case StmtKind::kFilterBlock:
    case StmtKind::kWith:
    case StmtKind::kScope:
      return run_region(statement);
    case StmtKind::kBlock:
      run_block(statement);
      break;
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
    case StmtKind::kNoLoader:
      refuse("no loader for this environment specified: a chat template cannot load another one");
  }
  return Flow::kNormal;
}

Value Runtime::loop_source(const Stmt& statement, const Value& iterable) {
  if (statement.exprs[2] == nullptr) {
    return iterable;
  }
  // Tested item by item while the loop runs, as a generator does, in the frame of the loop.
  enter(statement.scopes[1]);
  auto items = std::make_shared<Iteration>(*this, iterable);
  auto* iterator = new IteratorObject;
  iterator->next = [items, &statement, owner = frame_, this](Runtime&, Value& item) {
    Ref<CallFrame> outer = std::exchange(frame_, owner);
    bool is_found = false;
    while (!is_found && items->next(item)) {
      assign(*statement.exprs[3], item);
      is_found = holds(*statement.exprs[2]);
    }
    frame_ = std::move(outer);
    return is_found;
  };
  return {Kind::kIterator, iterator};
}

Runtime::Flow Runtime::run_for(const Stmt& statement, const Value& iterable, int64_t depth) {
  const ScopeInfo& scope = statement.scopes[0];
  if (!is_iterable(iterable)) {
    refuse(fmt::format("'{}' object is not iterable", type_name(iterable)));
  }
  const Value source = loop_source(statement, iterable);
  Ref<LoopObject> loop;
  Iteration plain(*this, source);
  if (statement.uses_loop) {
    loop = Ref<LoopObject>(new LoopObject(*this, source, statement, frame_->parent, depth));
  }
  const Expr& target = *statement.exprs[0];
  const bool is_name = target.kind == ExprKind::kName && target.context_name == 0;
  bool had_whole_pass = false;
  Value item;
  while (loop ? loop->advance(*this, item) : plain.next(item)) {
    charge(1);
    if (is_name) {
      slot(target.place) = std::move(item);
    } else {
      assign(target, std::move(item));
    }
    if (loop) {
      loop->retain();
      slot(statement.loop) = Value(Kind::kObject, loop.get());
    }
    if (scope.n_entered > 0) {
      enter(scope);
    }
    const Flow flow = run(statement.bodies[0]);
    if (flow == Flow::kBreak) {
      break;
    }
    // A pass that `continue` cuts short does not count, as in jinja2's compiled loop.
    had_whole_pass = had_whole_pass || flow == Flow::kNormal;
  }
  leave(scope);
  if (had_whole_pass || statement.bodies[1].empty()) {
    return Flow::kNormal;
  }
  enter(statement.scopes[2]);
  const Flow flow = run(statement.bodies[1]);
  leave(statement.scopes[2]);
  return flow;
}

Runtime::Flow Runtime::run_region(const Stmt& statement) {
  Flow flow = Flow::kNormal;
  if (statement.kind == StmtKind::kWith) {
    enter(statement.scopes[0]);
    for (size_t i = 0; i < statement.exprs.size(); i += 2) {
      assign(*statement.exprs[i], eval(*statement.exprs[i + 1]));
    }
    flow = run(statement.bodies[0]);
    leave(statement.scopes[0]);
    return flow;
  }
  enter(statement.scopes[0]);
  if (statement.kind == StmtKind::kScope) {
    flow = run(statement.bodies[0]);
    leave(statement.scopes[0]);
    return flow;
  }
  const Value text = captured([&] { flow = run(statement.bodies[0]); });
  if (flow == Flow::kNormal && statement.kind == StmtKind::kFilterBlock) {
    write_text(eval_filter(*statement.exprs[0], &text));
  } else if (flow == Flow::kNormal) {
    assign(*statement.exprs[0],
           statement.exprs[1] != nullptr ? eval_filter(*statement.exprs[1], &text) : text);
  }
  leave(statement.scopes[0]);
  return flow;
}

void Runtime::run_block(const Stmt& statement) {
  if (++n_calls_ > max_calls_) {
    refuse_depth();
  }
  const std::vector<Value> context = context_;
  for (auto name = statement.visible.rbegin(); name != statement.visible.rend(); ++name) {
    const Value& value = slot(name->second);
    if (!value.is_missing()) {
      context_[name->first] = value;
    }
  }
  Ref<CallFrame> outer = std::exchange(frame_, make_frame(statement.function->n_slots, {}));
  enter(statement.scopes[0]);
  run(statement.bodies[0]);
  frame_ = std::move(outer);
  if (!statement.visible.empty()) {
    context_ = context;
  }
  --n_calls_;
}

bool Runtime::has_block(std::string_view name) const {
  return std::any_of(program_.blocks.begin(), program_.blocks.end(),
                     [&](const auto& block) { return block.first == name; });
}

Value Runtime::render_block(std::string_view name) {
  return captured([&] {
    for (const auto& [other, statement] : program_.blocks) {
      if (other == name) {
        run_block(*statement);
      }
    }
  });
}

void Runtime::assign(const Expr& target, Value value) {
  switch (target.kind) {
    case ExprKind::kName:
      if (target.context_name > 0) {
        context_[target.context_name - 1] = value;
      }
      slot(target.place) = std::move(value);
      return;
    case ExprKind::kNamespaceAttribute: {
      const Value& object = slot(target.parts[0]->place);
      if (!object.is(Kind::kNamespace)) {
        refuse("cannot assign attribute on non-namespace object");
      }
      if (target.text.starts_with('_')) {
        refuse(
            fmt::format("Chat templates cannot store underscore-prefixed attributes on a "
                        "namespace, but got '{}'",
                        target.text));
      }
      DictObject& attributes = object.as<NamespaceObject>().attributes;
      if (Value* old = attributes.find(target.text)) {
        *old = std::move(value);
      } else {
        attributes.set(Value::string(target.text), std::move(value));
      }
      return;
    }
    default:
      unpack(target, value);
  }
}

// Lets go of what a target holds, if it is this value: it is about to be assigned again.
void Runtime::release(const Expr& target, const Value& value) {
  Value* held = nullptr;
  if (target.kind == ExprKind::kName) {
    if (target.context_name > 0) {
      context_[target.context_name - 1] = {};
    }
    held = &slot(target.place);
  } else if (const Value& owner = slot(target.parts[0]->place); owner.is(Kind::kNamespace)) {
    held = owner.as<NamespaceObject>().attributes.find(target.text);
  }
  if (held != nullptr && held->is_object() && held->object() == value.object()) {
    *held = {};
  }
}

void Runtime::unpack(const Expr& target, const Value& value) {
  if (!is_iterable(value)) {
    refuse(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
  }
  Iteration items(*this, value);
  std::vector<Value> values;
  for (Value item; values.size() <= target.parts.size() && items.next(item);) {
    values.push_back(item);
  }
  if (values.size() != target.parts.size()) {
    refuse(values.size() > target.parts.size()
               ? fmt::format("too many values to unpack (expected {})", target.parts.size())
               : fmt::format("not enough values to unpack (expected {}, got {})",
                             target.parts.size(), values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    assign(*target.parts[i], std::move(values[i]));
  }
}

}  // namespace fathom::codec::jinja

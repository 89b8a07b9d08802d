// Calls: macros with their arguments, loops that call themselves, built-ins.
// Called by codec/jinja_eval, codec/jinja_runtime. Read next: codec/jinja_loop.h.
#include <fmt/format.h>

#include <algorithm>

#include "codec/jinja_builtins.h"
#include "codec/jinja_loop.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

// The parameter's name in a list such as "old,new,count/"; moves `list` behind it.
std::string_view next_parameter(std::string_view& list) {
  const size_t comma = std::min(list.find(','), list.size());
  const std::string_view name = list.substr(0, comma);
  list.remove_prefix(std::min(comma + 1, list.size()));
  return name;
}

// What the call gives for parameter `at` of that name; missing if nothing. Counts keywords.
Value find_argument(Runtime& runtime, const Signature& signature, const Arguments& arguments,
                    std::string_view name, size_t at, size_t& n_named) {
  Value value;
  if (at < arguments.positional.size()) {
    value = arguments.positional[at];
  }
  for (const Keyword& keyword : arguments.keywords) {
    if (keyword.name != name) {
      continue;
    }
    if (!value.is_missing()) {
      runtime.refuse(
          fmt::format("{}() got multiple values for argument '{}'", signature.name, name));
    }
    value = keyword.value;
    ++n_named;
  }
  return value;
}

}  // namespace

Value call_builtin(Runtime& runtime, const Signature& signature, const Value& self,
                   const Arguments& arguments) {
  Bound bound{self, {}, {}, {}};
  const size_t n_positional = std::min(arguments.positional.size(), signature.n_parameters);
  size_t n_required_given = 0;
  size_t n_named = 0;
  if (arguments.keywords.empty()) {
    std::copy_n(arguments.positional.begin(), n_positional, bound.values.begin());
    n_required_given = std::min(n_positional, signature.n_required);
  } else {
    std::string_view list = signature.parameters;
    for (size_t i = 0; i < signature.n_parameters; ++i) {
      const std::string_view name = next_parameter(list);
      bound.values[i] = find_argument(runtime, signature, arguments, name, i, n_named);
      n_required_given += i < signature.n_required && !bound.values[i].is_missing() ? 1 : 0;
    }
  }
  if (n_required_given < signature.n_required) {
    runtime.refuse(fmt::format("{}() takes at least {} argument(s), {} given", signature.name,
                               signature.n_required, n_required_given));
  }
  if (arguments.positional.size() > n_positional) {
    if (!signature.takes_more) {
      runtime.refuse(fmt::format("{}() takes at most {} argument(s), {} given", signature.name,
                                 signature.n_parameters, arguments.positional.size()));
    }
    bound.extra = arguments.positional.subspan(n_positional);
  }
  if (signature.takes_keywords) {
    bound.extra_keywords = arguments.keywords;
  } else if (n_named < arguments.keywords.size()) {
    runtime.refuse(fmt::format("{}() got an unexpected keyword argument", signature.name));
  }
  return signature.function(runtime, bound);
}

Value SpecialObject::attribute(Runtime&, std::string_view) {
  return {};
}

Value SpecialObject::call(Runtime& runtime, const Arguments&) {
  runtime.refuse(fmt::format("'{}' object is not callable", type()));
}

std::string SpecialObject::print() const {
  return fmt::format("<{} object>", type());
}

Value make_function(const Signature& signature, Value self) {
  return {Kind::kObject, new FunctionObject(signature, std::move(self))};
}

std::string_view FunctionObject::type() const {
  return self_.is_missing() ? "function" : "builtin_function_or_method";
}

Value FunctionObject::call(Runtime& runtime, const Arguments& arguments) {
  return like_markup(self_, call_builtin(runtime, signature_, self_, arguments));
}

std::string FunctionObject::print() const {
  return fmt::format("<{} {}>", type(), signature_.name);
}

Value Runtime::call(const Value& callee, const Arguments& arguments) {
  if (callee.is(Kind::kUndefined)) {
    refuse_undefined(callee);
  }
  if (!callee.is(Kind::kObject) || !callee.as<SpecialObject>().is_callable()) {
    refuse(fmt::format("'{}' object is not callable", type_name(callee)));
  }
  // A macro may assign its own name, and its object must live as long as the call.
  const auto held = Ref<SpecialObject>::share(&callee.as<SpecialObject>());
  return held->call(*this, arguments);
}

Value Runtime::call_filter(std::string_view name, const Value& self, const Arguments& arguments) {
  const Signature* filter = find_filter(name);
  if (filter == nullptr) {
    refuse(fmt::format("No filter named '{}'.", name));
  }
  Value result = call_builtin(*this, *filter, self, arguments);
  return charged(is_markup(self) && keeps_markup(name) ? like_markup(self, result)
                                                       : std::move(result));
}

bool Runtime::call_test(std::string_view name, const Value& self, const Arguments& arguments) {
  const Signature* test = find_test(name);
  if (test == nullptr) {
    refuse(fmt::format("No test named '{}'.", name));
  }
  return call_builtin(*this, *test, self, arguments).as_bool();
}

Value Runtime::make_macro(const Stmt& statement, std::string_view name) {
  return {Kind::kObject, new MacroObject(statement, frame_, name)};
}

void Runtime::bind_macro(const Stmt& statement, const Arguments& arguments, std::string_view name,
                         CallFrame& frame) {
  const FunctionInfo& function = *statement.function;
  std::vector<bool> used(arguments.keywords.size(), false);
  const auto take = [&](std::string_view parameter) {
    for (size_t i = 0; i < arguments.keywords.size(); ++i) {
      if (!used[i] && arguments.keywords[i].name == parameter) {
        used[i] = true;
        return arguments.keywords[i].value;
      }
    }
    return Value();
  };
  const size_t n_parameters = function.parameters.size();
  for (size_t i = 0; i < n_parameters; ++i) {
    const Parameter& parameter = function.parameters[i];
    frame.slots[parameter.place.slot] =
        i < arguments.positional.size() ? arguments.positional[i] : take(parameter.name);
  }
  if (function.caller > 0) {
    const Value caller = take("caller");
    frame.slots[function.caller - 1] = caller.is_missing() || caller.is(Kind::kNone)
                                           ? Value::undefined("No caller defined")
                                           : caller;
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (function.kwargs > 0) {
    auto* dict = new DictObject;
    const Value kwargs(Kind::kDict, dict);
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) {
        dict->set(Value::string(std::string(arguments.keywords[i].name)),
                  arguments.keywords[i].value);
      }
    }
    frame.slots[function.kwargs - 1] = kwargs;
  } else if (unused != used.end()) {
    const auto i = static_cast<size_t>(unused - used.begin());
    refuse(
        fmt::format("macro '{}' takes no keyword argument '{}'", name, arguments.keywords[i].name));
  }
  std::vector<Value> more;
  if (arguments.positional.size() > n_parameters) {
    more.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(n_parameters),
                arguments.positional.end());
  }
  if (function.varargs > 0) {
    frame.slots[function.varargs - 1] = Value::tuple(std::move(more));
  } else if (!more.empty()) {
    refuse(fmt::format("macro '{}' takes not more than {} argument(s)", name, n_parameters));
  }
}

Value Runtime::run_macro(const Stmt& statement, const Ref<CallFrame>& closure,
                         const Arguments& arguments, std::string_view name) {
  if (++n_calls_ > max_calls_) {
    --n_calls_;
    refuse_depth();
  }
  const uint32_t line = line_;
  Ref<CallFrame> frame = make_frame(statement.function->n_slots, closure);
  bind_macro(statement, arguments, name, *frame.get());
  Ref<CallFrame> outer = std::exchange(frame_, frame);
  enter(statement.scopes[0]);
  Value text = captured([&] {
    for (const Parameter& parameter : statement.function->parameters) {
      if (frame->slots[parameter.place.slot].is_missing()) {
        Value value =
            parameter.default_value != nullptr
                ? eval(*parameter.default_value)
                : Value::undefined(fmt::format("parameter '{}' was not provided", parameter.name));
        frame->slots[parameter.place.slot] = std::move(value);
      }
    }
    run(statement.bodies[0]);
  });
  frame_ = std::move(outer);
  line_ = line;
  --n_calls_;
  return text;
}

Value Runtime::run_recursive(const Stmt& statement, const Ref<CallFrame>& closure,
                             const Value& iterable, int64_t depth) {
  if (++n_calls_ > max_calls_) {
    --n_calls_;
    refuse_depth();
  }
  Ref<CallFrame> outer = std::exchange(frame_, make_frame(statement.function->n_slots, closure));
  Value text = captured([&] { run_for(statement, iterable, depth); });
  frame_ = std::move(outer);
  --n_calls_;
  return text;
}

Value MacroObject::call(Runtime& runtime, const Arguments& arguments) {
  return runtime.run_macro(statement_, closure_, arguments, name_);
}

Value MacroObject::attribute(Runtime&, std::string_view name) {
  const FunctionInfo& function = *statement_.function;
  if (name == "name") {
    return name_.empty() ? Value::none() : Value::string(std::string(name_));
  }
  if (name == "arguments") {
    std::vector<Value> names;
    for (const Parameter& parameter : function.parameters) {
      names.push_back(Value::string(parameter.name));
    }
    return Value::tuple(std::move(names));
  }
  if (name == "caller" || name == "catch_kwargs" || name == "catch_varargs") {
    return Value::boolean((name == "caller"         ? function.caller
                           : name == "catch_kwargs" ? function.kwargs
                                                    : function.varargs) > 0);
  }
  return {};
}

std::string MacroObject::print() const {
  return name_.empty() ? "<Macro anonymous>" : fmt::format("<Macro {}>", repr_of(name_));
}

bool LoopObject::advance(Runtime& runtime, Value& item) {
  static_cast<void>(runtime);
  const Value next = peek();
  has_after_ = false;
  if (next.is_missing()) {
    return false;
  }
  ++index_;
  before_ = std::move(current_);
  current_ = next;
  item = next;
  return true;
}

const Value& LoopObject::peek() {
  if (!has_after_) {
    after_ = {};
    if (has_rest_) {
      if (!rest_.empty()) {
        after_ = std::move(rest_.back());
        rest_.pop_back();
      }
    } else if (!items_.next(after_)) {
      after_ = {};  // an item that the loop's test refused may be left in it
    }
    has_after_ = true;
  }
  return after_;
}

int64_t LoopObject::length() {
  if (length_ < 0 && !find_length(source_, length_)) {
    for (Value item; items_.next(item);) {
      rest_.push_back(item);
    }
    std::reverse(rest_.begin(), rest_.end());
    has_rest_ = true;
    length_ = static_cast<int64_t>(rest_.size()) + index_ + 1 +
              (has_after_ && !after_.is_missing() ? 1 : 0);
  }
  return length_;
}

Value LoopObject::call(Runtime& runtime, const Arguments& arguments) {
  if (!statement_.is_recursive) {
    runtime.refuse("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) {
    runtime.refuse("loop() takes 1 argument");
  }
  return runtime.run_recursive(statement_, closure_, arguments.positional[0], depth_ + 1);
}

std::string LoopObject::print() const {
  return fmt::format("<LoopContext {}/{}>", index_ + 1, length_);
}

Value LoopObject::cycle(Runtime& runtime, const Arguments& arguments) const {
  if (arguments.positional.empty()) {
    runtime.refuse("no items for cycling given");
  }
  return arguments.positional[static_cast<size_t>(index_) % arguments.positional.size()];
}

Value LoopObject::changed(Runtime& runtime, const Arguments& arguments) {
  Value values = Value::tuple({arguments.positional.begin(), arguments.positional.end()});
  const bool is_same = !last_changed_.is_missing() && equal(runtime, last_changed_, values);
  last_changed_ = std::move(values);
  return Value::boolean(!is_same);
}

}  // namespace fathom::codec::jinja

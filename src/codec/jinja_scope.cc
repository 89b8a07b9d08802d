// Two steps per region: first collect what it reads and assigns, then give its names their places.
#include "codec/jinja_scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/error.h"
#include "codec/jinja_builtins.h"
#include "codec/jinja_names.h"

namespace fathom::codec::jinja {

namespace {

constexpr size_t kMaxCopies = 500'000;  // names copied for branches, over the whole template

// A frame of a call; what a Place counts outwards.
struct Function {
  uint32_t depth = 0;
  uint32_t n_slots = 0;
};

struct Reference {
  Function* function = nullptr;
  uint32_t slot = 0;
};

// The names of one region. Copies for the branches of an if share the slots.
struct Symbols {
  Symbols* parent = nullptr;
  Function* function = nullptr;
  std::shared_ptr<std::map<std::string, uint32_t>> slots =
      std::make_shared<std::map<std::string, uint32_t>>();
  std::map<std::string, uint32_t> refs;
  std::map<uint32_t, Load> loads;
  std::set<std::string> stores;

  Symbols(Symbols* outer, Function* owner) : parent(outer), function(owner) {}

  [[nodiscard]] bool find(const std::string& name, Reference& found) const {
    for (const Symbols* symbols = this; symbols != nullptr; symbols = symbols->parent) {
      if (const auto ref = symbols->refs.find(name); ref != symbols->refs.end()) {
        found = {symbols->function, ref->second};
        return true;
      }
    }
    return false;
  }

  Load& define(const std::string& name, Load::From from) {
    const auto [entry, is_new] = slots->try_emplace(name, function->n_slots);
    function->n_slots += is_new ? 1 : 0;
    refs[name] = entry->second;
    Load& load = loads[entry->second];
    load = {from, entry->second, 0, {}};
    return load;
  }
};

struct Frame {
  Symbols* symbols;
  Function* function;
  bool is_top = false;   // assignments also change the context
  bool is_soft = false;  // inside an if: unknown filters are found out when they run
  bool in_loop = false;
};

// The key of an item where it is a text of the template.
bool has_text_key(const Expr& item) {
  return item.parts[1]->kind == ExprKind::kConst && item.parts[1]->constant.is(Kind::kString);
}

// After its parts: whether a comparison is a name's member beside a text, equal or not.
bool is_text_test(const Expr& compare) {
  const Expr& left = *compare.parts[0];
  const Expr& right = *compare.parts[1];
  return compare.compares.size() == 1 &&
         (compare.compares[0] == Operator::kEqual || compare.compares[0] == Operator::kNotEqual) &&
         left.attribute != nullptr && left.parts[0]->kind == ExprKind::kName &&
         right.kind == ExprKind::kConst && right.constant.is(Kind::kString);
}

bool are_constants(const std::vector<ExprPtr>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [](const ExprPtr& part) { return part->kind == ExprKind::kConst; });
}

// Whether `set target = value` has the form "x = x + ..." or "n.x = n.x + ...", or the same with ~.
bool is_growth(const Expr& target, const Expr& value) {
  if (value.kind != ExprKind::kConcat &&
      (value.kind != ExprKind::kBinary || value.op != Operator::kAdd)) {
    return false;
  }
  const auto is_same_name = [](const Expr& a, const Expr& b) {
    return a.kind == ExprKind::kName && b.kind == ExprKind::kName && a.text == b.text;
  };
  const Expr& left = *value.parts[0];
  if (target.kind == ExprKind::kName) {
    return is_same_name(target, left);
  }
  return target.kind == ExprKind::kNamespaceAttribute && left.kind == ExprKind::kAttribute &&
         left.text == target.text && is_same_name(*target.parts[0], *left.parts[0]);
}

class Resolver {
 public:
  Program run(Body body) {
    Program program;
    program.body = std::move(body);
    Function root;
    Symbols symbols(nullptr, &root);
    collect(symbols, program.body);
    const Frame frame{&symbols, &root, true, false, false};
    resolve(frame, program.body);
    program.scope = scope_of(symbols);
    program.n_slots = root.n_slots;
    program.context_names = std::move(context_names_);
    program.blocks = std::move(blocks_);
    return program;
  }

 private:
  [[noreturn]] static void refuse(const std::string& what, uint32_t line) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("chat template, line {}: {}; correct the template", line, what));
  }

  uint32_t context_id(const std::string& name) {
    const auto [entry, is_new] =
        context_ids_.try_emplace(name, static_cast<uint32_t>(context_names_.size()));
    if (is_new) {
      context_names_.push_back(name);
    }
    return entry->second;
  }

  // --- what a region reads and assigns

  void load(Symbols& symbols, const std::string& name) {
    Reference found;
    if (!symbols.find(name, found)) {
      symbols.define(name, Load::From::kContext).context_name = context_id(name);
    }
  }

  void load_all(Symbols& symbols, Expr& expr) {
    auto look = [&](Expr& name) { load(symbols, name.text); };
    for_each_load(expr, look);
  }

  // The place of a name in the regions around, seen from inside `symbols`.
  static bool find_outer(const Symbols& symbols, const std::string& name, Place& place) {
    Reference found;
    if (symbols.parent == nullptr || !symbols.parent->find(name, found)) {
      return false;
    }
    place = {symbols.function->depth - found.function->depth, found.slot};
    return true;
  }

  static void store(Symbols& symbols, const std::string& name) {
    symbols.stores.insert(name);
    if (symbols.refs.count(name) > 0) {
      return;
    }
    Place outer;
    if (find_outer(symbols, name, outer)) {
      symbols.define(name, Load::From::kOuter).outer = outer;
    } else {
      symbols.define(name, Load::From::kNothing);
    }
  }

  static void declare(Symbols& symbols, const std::string& name) {
    symbols.stores.insert(name);
    symbols.define(name, Load::From::kParameter);
  }

  void store_target(Symbols& symbols, Expr& target, bool is_parameter) {
    if (target.kind == ExprKind::kName) {
      if (is_parameter) {
        declare(symbols, target.text);
      } else {
        store(symbols, target.text);
      }
    } else if (target.kind == ExprKind::kNamespaceAttribute) {
      load(symbols, target.parts[0]->text);
    } else {
      for (ExprPtr& part : target.parts) {
        store_target(symbols, *part, is_parameter);
      }
    }
  }

  Symbols branch(const Symbols& symbols) {
    n_copies_ += symbols.refs.size() + 1;
    if (n_copies_ > kMaxCopies) {
      fail(ErrorCode::kResourceExhausted,
           "chat template: too many names in too many branches; simplify the template");
    }
    return symbols;
  }

  void merge(Symbols& symbols, std::vector<Symbols> branches) {
    std::set<std::string> stores;
    for (const Symbols& one : branches) {
      stores.insert(one.stores.begin(), one.stores.end());
    }
    for (const std::string& name : symbols.stores) {
      stores.erase(name);
    }
    for (const Symbols& one : branches) {
      for (const auto& [name, slot] : one.refs) {
        symbols.refs[name] = slot;
      }
      for (const auto& [slot, load] : one.loads) {
        symbols.loads[slot] = load;
      }
      symbols.stores.insert(one.stores.begin(), one.stores.end());
    }
    for (const std::string& name : stores) {  // assigned in a branch only: has a value before it
      Reference found;
      static_cast<void>(symbols.find(name, found));  // it is there: a branch has defined it
      Load& load = symbols.loads[found.slot];
      Place outer;
      if (find_outer(symbols, name, outer)) {
        load = {Load::From::kOuter, found.slot, 0, outer};
      } else {
        load = {Load::From::kContext, found.slot, context_id(name), {}};
      }
    }
  }

  void collect_if(Symbols& symbols, Stmt& statement) {
    load_all(symbols, *statement.exprs[0]);
    std::vector<Symbols> branches;
    branches.push_back(branch(symbols));
    collect(branches[0], statement.bodies[0]);
    branches.push_back(branch(symbols));
    for (size_t i = 1; i < statement.exprs.size(); ++i) {
      load_all(branches[1], *statement.exprs[i]);
      std::vector<Symbols> inner{branch(branches[1])};
      collect(inner[0], statement.bodies[i]);
      merge(branches[1], std::move(inner));
    }
    branches.push_back(branch(symbols));
    if (statement.bodies.size() > statement.exprs.size()) {
      collect(branches[2], statement.bodies.back());
    }
    merge(symbols, std::move(branches));
  }

  void collect(Symbols& symbols, Body& body) {
    for (StmtPtr& statement : body) {
      collect(symbols, *statement);
    }
  }

  void collect(Symbols& symbols, Stmt& statement) {
    switch (statement.kind) {
      case StmtKind::kOutput:
      case StmtKind::kCallBlock:
      case StmtKind::kFilterBlock:
      case StmtKind::kNoLoader:
        load_all(symbols, *statement.exprs[0]);
        break;
      case StmtKind::kIf:
        collect_if(symbols, statement);
        break;
      case StmtKind::kFor:
        load_all(symbols, *statement.exprs[1]);
        break;
      case StmtKind::kSet:
        load_all(symbols, *statement.exprs[1]);
        store_target(symbols, *statement.exprs[0], false);
        break;
      case StmtKind::kSetBlock:
        store_target(symbols, *statement.exprs[0], false);
        break;
      case StmtKind::kMacro:
        store(symbols, statement.text);
        break;
      case StmtKind::kWith:
        for (size_t i = 1; i < statement.exprs.size(); i += 2) {
          load_all(symbols, *statement.exprs[i]);
        }
        break;
      default:
        break;
    }
  }

  // --- places

  static ScopeInfo scope_of(const Symbols& symbols) {
    ScopeInfo scope;
    for (const auto& [slot, load] : symbols.loads) {
      scope.loads.push_back(load);
    }
    const auto entered =
        std::stable_partition(scope.loads.begin(), scope.loads.end(),
                              [](const Load& load) { return load.from != Load::From::kParameter; });
    scope.n_entered = static_cast<size_t>(entered - scope.loads.begin());
    return scope;
  }

  static Place place_of(const Frame& frame, const Expr& name) {
    Reference found;
    if (!frame.symbols->find(name.text, found)) {
      // jinja2 forgets names that only the filter of a set block uses, and refuses as well.
      refuse(fmt::format("the name '{}' is unknown here", name.text), name.line);
    }
    return {frame.function->depth - found.function->depth, found.slot};
  }

  void resolve(const Frame& frame, ExprPtr& expr) {
    if (expr != nullptr) {
      resolve(frame, *expr);
    }
  }

  void resolve(const Frame& outer, Expr& expr) {
    Frame frame = outer;
    switch (expr.kind) {
      case ExprKind::kName:
        expr.place = place_of(frame, expr);
        expr.constant = Value::undefined_name(expr.text);
        expr.constant.object()->make_immortal();
        expr.owned.reset(expr.constant.object());
        return;
      case ExprKind::kList:
      case ExprKind::kTuple:
        expr.is_constant = are_constants(expr.parts);
        break;
      case ExprKind::kCondition:
        frame.is_soft = true;
        break;
      case ExprKind::kAttribute:
        expr.attribute = std::make_unique<AttributeInfo>(expr.text);
        break;
      case ExprKind::kItem:
        if (has_text_key(expr)) {
          expr.text = expr.parts[1]->constant.text();
          expr.attribute = std::make_unique<AttributeInfo>(expr.text);
        }
        break;
      case ExprKind::kFilter:
      case ExprKind::kTest: {
        const bool is_filter = expr.kind == ExprKind::kFilter;
        expr.builtin = is_filter ? find_filter(expr.text) : find_test(expr.text);
        if (expr.builtin == nullptr && !frame.is_soft) {
          refuse(fmt::format("No {} named '{}'.", is_filter ? "filter" : "test", expr.text),
                 expr.line);
        }
        break;
      }
      default:
        break;
    }
    for (ExprPtr& part : expr.parts) {
      resolve(frame, part);
    }
    expr.is_text_test = expr.kind == ExprKind::kCompare && is_text_test(expr);
    if (expr.call != nullptr) {
      for (ExprPtr& argument : expr.call->positional) {
        resolve(frame, argument);
      }
      for (auto& [name, argument] : expr.call->keywords) {
        resolve(frame, argument);
      }
      resolve(frame, expr.call->star);
      resolve(frame, expr.call->double_star);
    }
  }

  void resolve_target(const Frame& frame, Expr& target) {
    if (target.kind == ExprKind::kName) {
      if (target.text == "loop" && for_depth_ > 0) {
        refuse("Can't assign to special loop variable in for-loop target", target.line);
      }
      target.place = place_of(frame, target);
      target.context_name = frame.is_top ? context_id(target.text) + 1 : 0;
    } else if (target.kind == ExprKind::kNamespaceAttribute) {
      resolve(frame, target.parts[0]);
    } else {
      for (ExprPtr& part : target.parts) {
        resolve_target(frame, *part);
      }
    }
  }

  void resolve(const Frame& frame, Body& body) {
    for (StmtPtr& statement : body) {
      resolve(frame, *statement);
    }
  }

  void resolve(const Frame& frame, Stmt& statement) {
    switch (statement.kind) {
      case StmtKind::kOutput:
      case StmtKind::kNoLoader:
        resolve(frame, statement.exprs[0]);
        break;
      case StmtKind::kIf: {
        Frame soft = frame;
        soft.is_soft = true;
        for (ExprPtr& test : statement.exprs) {
          resolve(soft, test);
        }
        for (Body& body : statement.bodies) {
          resolve(soft, body);
        }
        break;
      }
      case StmtKind::kFor:
        resolve_for(frame, statement);
        break;
      case StmtKind::kSet:
        resolve_target(frame, *statement.exprs[0]);
        resolve(frame, statement.exprs[1]);
        statement.grows = is_growth(*statement.exprs[0], *statement.exprs[1]);
        break;
      case StmtKind::kMacro:
        resolve_function(frame, statement);
        resolve_target(frame, *statement.exprs[0]);
        break;
      case StmtKind::kCallBlock:
        resolve_function(frame, statement);
        resolve(frame, statement.exprs[0]);
        break;
      case StmtKind::kGeneration:
        resolve_function(frame, statement);
        break;
      case StmtKind::kBlock:
        resolve_block(frame, statement);
        break;
      case StmtKind::kSetBlock:
      case StmtKind::kFilterBlock:
      case StmtKind::kWith:
      case StmtKind::kScope:
        resolve_region(frame, statement);
        break;
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        if (!frame.in_loop) {
          refuse("'break' or 'continue' outside of a loop", statement.line);
        }
        break;
      case StmtKind::kText:
        break;
    }
  }

  void resolve_for(const Frame& frame, Stmt& statement) {
    Function own{frame.function->depth + 1, 0};
    Function* function = statement.is_recursive ? &own : frame.function;
    statement.uses_loop = statement.is_recursive || reads_name(statement.bodies[0], "loop") ||
                          has_scoped_block(statement.bodies[0]) ||
                          has_scoped_block(statement.bodies[1]);
    ++for_depth_;
    Symbols loop(frame.symbols, function);
    if (statement.uses_loop) {
      declare(loop, "loop");
      statement.loop = {0, loop.refs["loop"]};
    }
    store_target(loop, *statement.exprs[0], true);
    collect(loop, statement.bodies[0]);

    resolve(frame, statement.exprs[1]);
    Symbols test(frame.symbols, function);
    statement.exprs.push_back(copy_target(*statement.exprs[0]));
    store_target(test, *statement.exprs[3], true);
    if (statement.exprs[2] != nullptr) {
      load_all(test, *statement.exprs[2]);
      const Frame test_frame{&test, function};
      resolve_target(test_frame, *statement.exprs[3]);
      resolve(test_frame, statement.exprs[2]);
    }
    const Frame loop_frame{&loop, function, false, false, true};
    resolve_target(loop_frame, *statement.exprs[0]);
    resolve(loop_frame, statement.bodies[0]);

    Symbols otherwise(frame.symbols, function);
    collect(otherwise, statement.bodies[1]);
    const Frame else_frame{&otherwise, function, false, false,
                           frame.in_loop && !statement.is_recursive};
    resolve(else_frame, statement.bodies[1]);
    --for_depth_;
    statement.scopes = {scope_of(loop), scope_of(test), scope_of(otherwise)};
    if (statement.is_recursive) {
      statement.function->n_slots = own.n_slots;
    }
  }

  // Set, filter and with blocks: a region within the same function.
  void resolve_region(const Frame& frame, Stmt& statement) {
    Symbols symbols(frame.symbols, frame.function);
    const Frame inner{&symbols, frame.function, false, false, frame.in_loop};
    if (statement.kind == StmtKind::kWith) {
      for (size_t i = 0; i < statement.exprs.size(); i += 2) {
        store_target(symbols, *statement.exprs[i], true);
      }
    }
    collect(symbols, statement.bodies[0]);
    if (statement.kind == StmtKind::kFilterBlock) {
      load_all(symbols, *statement.exprs[0]);
      resolve(inner, statement.exprs[0]);
    } else if (statement.kind == StmtKind::kSetBlock) {
      resolve_target(frame, *statement.exprs[0]);
      resolve(inner, statement.exprs[1]);
    } else if (statement.kind == StmtKind::kWith) {
      for (size_t i = 0; i < statement.exprs.size(); i += 2) {
        resolve_target(inner, *statement.exprs[i]);
        resolve(frame, statement.exprs[i + 1]);
      }
    }
    resolve(inner, statement.bodies[0]);
    statement.scopes = {scope_of(symbols)};
  }

  // Macros, call blocks and generation blocks.
  void resolve_function(const Frame& frame, Stmt& statement) {
    Function own{frame.function->depth + 1, 0};
    Symbols symbols(frame.symbols, &own);
    const Frame inner{&symbols, &own};
    FunctionInfo& function = *statement.function;
    for (const Parameter& parameter : function.parameters) {
      declare(symbols, parameter.name);
    }
    for (Parameter& parameter : function.parameters) {
      if (parameter.default_value != nullptr) {
        load_all(symbols, *parameter.default_value);
      }
    }
    collect(symbols, statement.bodies[0]);
    const auto special = [&](const char* name, uint32_t& slot) {
      bool is_parameter = false;
      for (const Parameter& parameter : function.parameters) {
        is_parameter = is_parameter || parameter.name == name;
      }
      if (!is_parameter && reads_name(statement.bodies[0], name)) {
        declare(symbols, name);
        slot = symbols.refs[name] + 1;
      }
    };
    special("caller", function.caller);
    special("kwargs", function.kwargs);
    special("varargs", function.varargs);
    for (Parameter& parameter : function.parameters) {
      parameter.place = {0, symbols.refs[parameter.name]};
      resolve(inner, parameter.default_value);
    }
    resolve(inner, statement.bodies[0]);
    statement.scopes = {scope_of(symbols)};
    function.n_slots = own.n_slots;
  }

  // A block sees the context, not the names around it; a scoped one sees those as context.
  void resolve_block(const Frame& frame, Stmt& statement) {
    for (const auto& [name, block] : blocks_) {
      if (name == statement.text) {
        refuse(fmt::format("block '{}' defined twice", name), statement.line);
      }
    }
    blocks_.emplace_back(statement.text, &statement);
    for (const Symbols* symbols = frame.symbols; statement.is_scoped && symbols != nullptr;
         symbols = symbols->parent) {
      for (const std::string& name : symbols->stores) {
        Expr expr;
        expr.text = name;
        statement.visible.emplace_back(context_id(name), place_of(frame, expr));
      }
    }
    Function own;
    Symbols symbols(nullptr, &own);
    collect(symbols, statement.bodies[0]);
    resolve(Frame{&symbols, &own}, statement.bodies[0]);
    statement.scopes = {scope_of(symbols)};
    statement.function->n_slots = own.n_slots;
  }

  std::map<std::string, uint32_t> context_ids_;
  std::vector<std::string> context_names_;
  std::vector<std::pair<std::string, const Stmt*>> blocks_;
  size_t n_copies_ = 0;
  int for_depth_ = 0;
};

}  // namespace

Program resolve_names(Body body) {
  return Resolver().run(std::move(body));
}

}  // namespace fathom::codec::jinja

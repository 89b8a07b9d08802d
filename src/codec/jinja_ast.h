// The tree of a parsed template: statements, expressions, and where each name is kept.
// Filled by codec/jinja_parser, codec/jinja_scope. Read next: codec/jinja_runtime.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/jinja_value.h"

namespace fathom::codec::jinja {

struct Signature;

// Where a name is kept: slot `slot` of the frame `up` function calls further out.
struct Place {
  uint32_t up = 0;
  uint32_t slot = 0;
};

enum class ExprKind : uint8_t {
  kConst,
  kName,                // a load, or a target of an assignment
  kNamespaceAttribute,  // target only: parts[0] is the namespace, text the attribute
  kTuple,               // parts
  kList,                // parts
  kDict,                // parts: key, value, key, value ...
  kNot,                 // parts[0]
  kNegative,            // parts[0]
  kPositive,            // parts[0]
  kAnd,                 // parts[0], parts[1]
  kOr,                  // parts[0], parts[1]
  kBinary,              // op, parts[0], parts[1]
  kConcat,              // parts, two or more
  kCompare,             // parts[0], then one part for each of compares
  kCondition,           // parts: value, test, and the other value or null
  kAttribute,           // parts[0], text
  kItem,                // parts[0], parts[1]
  kSlice,               // parts: object, start, stop, step; null where left out
  kCall,                // parts[0], call
  kFilter,              // parts[0] (null in a filter block), text, call
  kTest,                // parts[0], text, call
};

enum class Operator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,  // kBinary
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn  // kCompare
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr star;         // *expr
  ExprPtr double_star;  // **expr
};

// What a name tells about object.name and object["name"] before any object is known.
struct AttributeInfo {
  explicit AttributeInfo(std::string_view name);

  [[nodiscard]] const Signature* method_of(Kind kind) const {
    return methods == nullptr ? nullptr : (*methods)[static_cast<size_t>(kind)];
  }

  bool is_plain = false;  // no type has a method or an inner name like this
  bool may_be_unsafe = false;
  std::unique_ptr<std::array<const Signature*, kKinds>> methods;  // by kind; null for a plain name

  // The undefined values that a plain name gives, made once: loops over the parts of a message ask
  // for one at every character where the message is a text.
  UndefinedObject of_string, of_dict;
  Value on_string, on_dict;
};

struct Expr {
  ExprKind kind = ExprKind::kConst;
  Operator op = Operator::kAdd;
  bool is_constant = false;  // kList and kTuple: all parts are kConst
  // kCompare: the one comparison of a name's member with a text, such as message.role == 'user'
  bool is_text_test = false;
  uint16_t depth = 1;  // levels of the tree below and with this one
  uint32_t line = 0;
  Place place;                // kName
  uint32_t context_name = 0;  // kName, a target at the top level: its place in the context, plus 1
  std::string text;           // name, attribute, filter, test; kItem with `attribute`: the key
  std::vector<ExprPtr> parts;
  std::vector<Operator> compares;
  std::unique_ptr<Object> owned;             // the constant's object: outlives `constant`
  Value constant;                            // kConst; kName: the undefined value where it has none
  std::unique_ptr<AttributeInfo> attribute;  // kAttribute, and kItem whose key is a text
  std::unique_ptr<CallArguments> call;
  const Signature* builtin = nullptr;  // kFilter and kTest; null: unknown, an error when it runs
};

enum class StmtKind : uint8_t {
  kText,         // text
  kOutput,       // exprs[0]
  kIf,           // exprs: a test for each body; one body more is the else
  kFor,          // exprs: target, iterable, test or null, target for the test; bodies: loop, else
  kSet,          // exprs: target, value
  kSetBlock,     // exprs: target, filter or null; bodies[0]
  kMacro,        // text: name; exprs[0]: the name as a target; function; bodies[0]
  kCallBlock,    // exprs[0]: the call; function; bodies[0]
  kGeneration,   // function; bodies[0]
  kFilterBlock,  // exprs[0]: the filter; bodies[0]
  kWith,         // exprs: target, value, target, value ...; bodies[0]
  kScope,        // bodies[0]
  kBlock,        // text: name; function; bodies[0]
  kBreak,
  kContinue,
  kNoLoader,  // include, import, extends: there is nothing to load from
};

// How a name gets its first value when a scope is entered.
struct Load {
  enum class From : uint8_t { kParameter, kContext, kOuter, kNothing };
  From from = From::kNothing;
  uint32_t slot = 0;
  uint32_t context_name = 0;  // kContext
  Place outer;                // kOuter
};

// A region of names: what to load at its start, what to forget at its end.
struct ScopeInfo {
  std::vector<Load> loads;  // those with nothing to do at the start last
  size_t n_entered = 0;     // how many have something to do
};

struct Parameter {
  std::string name;
  Place place;
  ExprPtr default_value;  // or null
};

// What runs in a frame of its own: a macro, the body of a call block, a recursive loop, a block.
struct FunctionInfo {
  uint32_t n_slots = 0;
  std::vector<Parameter> parameters;
  // Slots of the special parameters, plus 1; 0 where the body does not use them.
  uint32_t caller = 0, kwargs = 0, varargs = 0;
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

struct Stmt {
  StmtKind kind = StmtKind::kText;
  uint32_t line = 0;
  bool uses_loop = false;     // kFor: the body names `loop`
  bool is_recursive = false;  // kFor
  bool is_scoped = false;     // kBlock
  bool grows = false;         // kSet: the value is the target's, and something added to it
  Place loop;                 // kFor with uses_loop
  std::string text;
  std::vector<ExprPtr> exprs;
  std::vector<Body> bodies;
  std::vector<ScopeInfo> scopes;  // kFor: loop, test, else; otherwise one, where there is a region
  std::vector<std::pair<uint32_t, Place>> visible;  // a scoped block: what it sees of its place
  std::unique_ptr<FunctionInfo> function;
};

// A whole template. Names of the context are numbered, so that a render looks each one up once.
struct Program {
  Body body;
  ScopeInfo scope;
  uint32_t n_slots = 0;
  std::vector<std::string> context_names;
  std::vector<std::pair<std::string, const Stmt*>> blocks;
};

}  // namespace fathom::codec::jinja

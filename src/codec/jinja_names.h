// Walks over the names of a tree in the order in which jinja2 sees them.
// Called by codec/jinja_scope. Read next: codec/jinja_ast.h.
#pragma once

#include "codec/jinja_ast.h"

namespace fathom::codec::jinja {

// Calls fn(Expr& name) for each name that an expression reads; names of targets are not visited.
template <class F>
void for_each_load(Expr& expr, F& fn) {
  if (expr.kind == ExprKind::kName) {
    fn(expr);
  }
  for (ExprPtr& part : expr.parts) {
    if (part != nullptr) {
      for_each_load(*part, fn);
    }
  }
  if (expr.call != nullptr) {
    for (ExprPtr& argument : expr.call->positional) {
      for_each_load(*argument, fn);
    }
    for (auto& [name, argument] : expr.call->keywords) {
      for_each_load(*argument, fn);
    }
    for (Expr* argument : {expr.call->star.get(), expr.call->double_star.get()}) {
      if (argument != nullptr) {
        for_each_load(*argument, fn);
      }
    }
  }
}

// Whether a body reads `name` before, in the order of the source, anything in it assigns that name;
// blocks are not looked into.
bool reads_name(const Body& body, std::string_view name);

// Whether there is a scoped block anywhere in the body: those see `loop`.
bool has_scoped_block(const Body& body);

// A copy of the target of an assignment.
ExprPtr copy_target(const Expr& target);

}  // namespace fathom::codec::jinja

// The search stops at the first use of the name.
#include "codec/jinja_names.h"

#include <algorithm>

namespace fathom::codec::jinja {

namespace {

enum class Use { kNone, kRead, kAssigned };

class Search {
 public:
  explicit Search(std::string_view name) : name_(name) {}

  void walk(const Body& body) {
    for (const StmtPtr& statement : body) {
      if (use_ != Use::kNone) {
        return;
      }
      walk(*statement);
    }
  }

  [[nodiscard]] bool was_read() const { return use_ == Use::kRead; }

 private:
  void read(const ExprPtr& expr) {
    if (expr == nullptr || use_ != Use::kNone) {
      return;
    }
    auto look = [this](Expr& found) {
      if (use_ == Use::kNone && found.text == name_) {
        use_ = Use::kRead;
      }
    };
    for_each_load(*expr, look);
  }

  void assign(const Expr& target) {
    if (target.kind == ExprKind::kName) {
      if (use_ == Use::kNone && target.text == name_) {
        use_ = Use::kAssigned;
      }
      return;
    }
    if (target.kind != ExprKind::kTuple) {
      return;  // an attribute of a namespace assigns no name
    }
    for (const ExprPtr& part : target.parts) {
      assign(*part);
    }
  }

  void walk_function(const Stmt& statement) {
    for (const Parameter& parameter : statement.function->parameters) {
      if (use_ == Use::kNone && parameter.name == name_) {
        use_ = Use::kAssigned;
      }
    }
    for (const Parameter& parameter : statement.function->parameters) {
      read(parameter.default_value);
    }
  }

  void walk(const Stmt& statement) {
    switch (statement.kind) {
      case StmtKind::kFor:
        assign(*statement.exprs[0]);
        read(statement.exprs[1]);
        walk(statement.bodies[0]);
        walk(statement.bodies[1]);
        read(statement.exprs[2]);
        return;
      case StmtKind::kSet:
      case StmtKind::kSetBlock:
        assign(*statement.exprs[0]);
        read(statement.exprs[1]);
        break;
      case StmtKind::kWith:
        for (size_t i = 0; i < statement.exprs.size(); i += 2) {
          assign(*statement.exprs[i]);
        }
        for (size_t i = 1; i < statement.exprs.size(); i += 2) {
          read(statement.exprs[i]);
        }
        break;
      case StmtKind::kMacro:
        walk_function(statement);
        break;
      case StmtKind::kCallBlock:
        read(statement.exprs[0]);
        walk_function(statement);
        break;
      case StmtKind::kBlock:
        return;
      default:
        for (const ExprPtr& expr : statement.exprs) {
          read(expr);
        }
    }
    for (const Body& body : statement.bodies) {
      walk(body);
    }
  }

  std::string_view name_;
  Use use_ = Use::kNone;
};

}  // namespace

bool reads_name(const Body& body, std::string_view name) {
  Search search(name);
  search.walk(body);
  return search.was_read();
}

bool has_scoped_block(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const StmtPtr& statement) {
    return statement->is_scoped ||
           std::any_of(statement->bodies.begin(), statement->bodies.end(), has_scoped_block);
  });
}

ExprPtr copy_target(const Expr& target) {
  auto copy = std::make_unique<Expr>();
  copy->kind = target.kind;
  copy->line = target.line;
  copy->text = target.text;
  for (const ExprPtr& part : target.parts) {
    copy->parts.push_back(copy_target(*part));
  }
  return copy;
}

}  // namespace fathom::codec::jinja

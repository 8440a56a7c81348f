#include "benchmarks/peers/halide_code.h"

#include <map>
#include <sstream>

namespace emulsion::benchmarks {
namespace {

namespace hi = Halide::Internal;

class Summary : public hi::IRVisitor {
 public:
  std::string text() {
    flush();
    return text_;
  }

 private:
  using hi::IRVisitor::visit;

  void visit(const hi::For* op) override {
    line("for", op->extent);
    ++depth_;
    op->body.accept(this);
    flush();
    --depth_;
  }

  void visit(const hi::Allocate* op) override {
    Halide::Expr elements = 1;
    for (const Halide::Expr& extent : op->extents) elements = elements * extent;
    std::ostringstream type;
    type << op->type;
    line("allocate", hi::simplify(elements), " " + type.str());
    hi::IRVisitor::visit(op);
  }

  void visit(const hi::IfThenElse* op) override {
    line("if", Halide::Expr());
    ++depth_;
    hi::IRVisitor::visit(op);
    flush();
    --depth_;
  }

  void visit(const hi::Load* op) override {
    count("load", op->type);
    hi::IRVisitor::visit(op);
  }

  void visit(const hi::Store* op) override {
    count("store", op->value.type());
    hi::IRVisitor::visit(op);
  }

  void visit(const hi::Call* op) override {
    const bool shares_out = op->name == "halide_do_par_for";
    if (shares_out) line("call halide_do_par_for", op->args[2]);
    hi::IRVisitor::visit(op);
  }

  void count(const std::string& what, Halide::Type type) {
    std::ostringstream key;
    key << what << ' ' << type;
    ++counts_[key.str()];
  }

  void line(const std::string& what, const Halide::Expr& number, const std::string& rest = "") {
    flush();
    std::ostringstream text;
    text << std::string(2 * depth_, ' ') << what;
    if (number.defined()) text << ' ' << number;
    text_ += text.str() + rest + '\n';
  }

  // What has been counted since the last line.
  void flush() {
    for (const auto& [what, count] : counts_) {
      text_ += std::string(2 * depth_, ' ') + std::to_string(count) + ' ' + what + '\n';
    }
    counts_.clear();
  }

  std::string text_;
  size_t depth_ = 0;
  std::map<std::string, int> counts_;
};

}  // namespace

Halide::Target without_queries(const Target& target) {
  return Halide::Target(target.to_string()).with_feature(Halide::Target::NoBoundsQuery);
}

std::string loops_and_accesses(const Halide::Module& module) {
  Summary summary;
  for (const hi::LoweredFunc& function : module.functions()) function.body.accept(&summary);
  return summary.text();
}

}  // namespace emulsion::benchmarks

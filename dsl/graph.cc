#include "dsl/graph.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "dsl/error.h"
#include "dsl/fitting_name.h"

namespace emulsion {
namespace {

void collect_reads(const Op& op, const std::unordered_set<const Op*>& members,
                   std::unordered_set<const Op*>* seen, std::vector<OpPtr>* result) {
  if (!op.body.defined()) return;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || members.count(e->tensor.get())) return;
    if (seen->insert(e->tensor.get()).second) result->push_back(e->tensor);
  });
}

// Producers before users, without recursion: graphs can be deep.
std::vector<OpPtr> topological_order(const std::vector<OpPtr>& outputs) {
  struct Frame {
    OpPtr op;
    std::vector<OpPtr> operands;
    size_t next = 0;
  };
  std::vector<OpPtr> order;
  std::unordered_set<const Op*> entered;
  for (const OpPtr& output : outputs) {
    std::vector<Frame> stack;
    auto enter = [&](const OpPtr& op) {
      if (entered.insert(op.get()).second) stack.push_back({op, operands(*op)});
    };
    enter(output);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.operands.size()) {
        OpPtr operand = top.operands[top.next++];
        enter(operand);
      } else {
        order.push_back(top.op);
        stack.pop_back();
      }
    }
  }
  return order;
}

bool is_argument(const Op& op) { return op.kind == OpKind::input || op.kind == OpKind::weight; }

std::string names_of(const std::vector<OpPtr>& ops) {
  std::string names;
  for (const OpPtr& op : ops) names += (names.empty() ? "" : ", ") + op->name;
  return names.empty() ? "none" : names;
}

std::vector<OpPtr> ops_of(const std::vector<Tensor>& tensors) {
  std::vector<OpPtr> ops;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) fail("graph: expected defined outputs, got an undefined tensor");
    ops.push_back(tensor.op());
  }
  return ops;
}

// `next`: the first number to try for a name, so that many of one name take no quadratic time.
std::string unique_name(const std::string& wanted, const std::set<std::string>& taken,
                        std::unordered_map<std::string, int>* next) {
  if (!taken.count(wanted)) return wanted;
  for (int& i = (*next)[wanted];;) {
    std::string candidate = fitting_name(wanted + "_" + std::to_string(++i));
    if (!taken.count(candidate)) return candidate;
  }
}

std::vector<std::string> sizes_of(const Op& op) {
  std::vector<std::string> names;
  auto add = [&](const Extent& extent) {
    for (const auto& [name, coefficient] : extent.coefficients()) names.push_back(name);
  };
  for (const Extent& extent : op.shape) add(extent);
  for (const Axis& axis : op.reduction_axes) add(axis.extent());
  if (op.body.defined()) {
    visit(op.body, [&](const Expr& e) {
      if (e->op == ExprOp::size) names.push_back(e->name);
    });
  }
  for (const OpPtr& member : op.members) {
    std::vector<std::string> inner = sizes_of(*member);
    names.insert(names.end(), inner.begin(), inner.end());
  }
  return names;
}

std::set<std::string> sizes_in(const std::vector<OpPtr>& ops) {
  std::set<std::string> sizes;
  for (const OpPtr& op : ops) {
    for (std::string& size : sizes_of(*op)) sizes.insert(std::move(size));
  }
  return sizes;
}

}  // namespace

std::vector<OpPtr> operands(const Op& op) {
  std::vector<OpPtr> result;
  std::unordered_set<const Op*> seen;
  std::unordered_set<const Op*> members;
  for (const OpPtr& member : op.members) members.insert(member.get());
  collect_reads(op, members, &seen, &result);
  for (const OpPtr& member : op.members) collect_reads(*member, members, &seen, &result);
  return result;
}

const Op& result_of(const Op& op) { return op.kind == OpKind::fused ? *op.members.back() : op; }

OpPtr replace_reads(const OpPtr& op, const std::unordered_map<const Op*, OpPtr>& replacement) {
  if (op->kind == OpKind::fused) {
    std::unordered_map<const Op*, OpPtr> inner = replacement;
    std::vector<OpPtr> members;
    bool changed = false;
    for (const OpPtr& member : op->members) {
      OpPtr copy = replace_reads(member, inner);
      if (copy != member) {
        inner[member.get()] = copy;
        changed = true;
      }
      members.push_back(copy);
    }
    if (!changed) return op;
    auto result = std::make_shared<Op>(*op);
    result->members = std::move(members);
    return result;
  }
  if (!op->body.defined()) return op;
  Expr body = transform(op->body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::read) return Expr();
    auto found = replacement.find(e->tensor.get());
    return found == replacement.end() ? Expr() : read_op(found->second, e->args);
  });
  if (body.same_as(op->body)) return op;
  auto result = std::make_shared<Op>(*op);
  result->body = std::move(body);
  return result;
}

Graph::Graph(const Tensor& output) : Graph(std::vector<Tensor>{output}) {}
Graph::Graph(const Func& output) : Graph(std::vector<Tensor>{output.tensor()}) {}

Graph::Graph(const std::vector<Tensor>& outputs) {
  if (outputs.empty()) fail("graph: expected at least one output, got none");
  std::vector<OpPtr> wanted = ops_of(outputs);
  std::vector<OpPtr> order = topological_order(wanted);

  std::set<std::string> taken;
  for (const OpPtr& op : order) {
    if (op->auto_named) continue;
    if (!taken.insert(op->name).second) {
      fail(
          "graph: expected distinct names, got two operations named {}; legal: one tensor that "
          "both places read, or another name for one of the two",
          op->name);
    }
  }
  std::unordered_map<const Op*, OpPtr> renamed;
  std::set<std::string> sizes;
  for (const OpPtr& op : order) {
    for (const std::string& size : sizes_of(*op)) {
      sizes.insert(size);
      if (taken.count(size)) {
        fail("graph: expected distinct names, got {} for a run-time size and an operation", size);
      }
    }
  }
  taken.insert(sizes.begin(), sizes.end());  // nor may a number make an operation a size's namesake
  std::unordered_map<std::string, int> next_number;
  for (const OpPtr& op : order) {
    OpPtr final_op = replace_reads(op, renamed);
    if (op->auto_named) {
      auto copy = std::make_shared<Op>(*final_op);
      copy->name = unique_name(op->name, taken, &next_number);
      copy->auto_named = false;
      taken.insert(copy->name);
      final_op = copy;
    }
    if (final_op != op) renamed[op.get()] = final_op;
    originals_.push_back(op);
    names_of_originals_[op.get()] = final_op->name;
    ops_.push_back(final_op);
  }
  std::set<const Op*> distinct;
  for (const OpPtr& op : wanted) {
    if (!distinct.insert(op.get()).second) {
      fail("graph: expected distinct outputs, got {} twice", op->name);
    }
    auto found = renamed.find(op.get());
    outputs_.push_back(found == renamed.end() ? op : found->second);
  }
  std::vector<OpPtr> declared = arguments();
  std::stable_sort(declared.begin(), declared.end(),
                   [](const OpPtr& a, const OpPtr& b) { return a->declared < b->declared; });
  put_first(declared);
  collect_names(std::move(sizes));
}

Graph::Graph(std::vector<OpPtr> ops, std::vector<OpPtr> outputs, std::vector<LoopGroup> loops)
    : ops_(std::move(ops)), outputs_(std::move(outputs)), loop_groups_(std::move(loops)) {
  for (const OpPtr& op : ops_) names_of_originals_[op.get()] = op->name;
  index();
  collect_names(sizes_in(ops_));
}

void Graph::index() {
  for (size_t i = 0; i < ops_.size(); ++i) {
    by_name_[ops_[i]->name] = i;
    names_of_originals_[ops_[i].get()] = ops_[i]->name;
  }
}

void Graph::collect_names(std::set<std::string> sizes) {
  sizes_.assign(sizes.begin(), sizes.end());
  names_ = std::move(sizes);
  for (const OpPtr& op : ops_) {
    for (const OpPtr& member : op->members) names_.insert(member->name);
  }
}

void Graph::put_first(const std::vector<OpPtr>& arguments) {
  std::vector<OpPtr> ops = arguments;
  for (const OpPtr& op : ops_) {
    if (!is_argument(*op)) ops.push_back(op);
  }
  ops_ = std::move(ops);
  index();
}

std::vector<OpPtr> Graph::arguments() const {
  std::vector<OpPtr> result;
  for (const OpPtr& op : ops_) {
    if (is_argument(*op)) result.push_back(op);
  }
  return result;
}

Graph Graph::arguments(const std::vector<Tensor>& order) const {
  const std::vector<OpPtr> own = arguments();
  const std::string legal = names_of(own);
  std::vector<OpPtr> stated;
  for (const Tensor& tensor : order) {
    const auto found = names_of_originals_.find(tensor.op().get());
    const OpPtr* op = found == names_of_originals_.end() ? nullptr : find(found->second);
    if (op == nullptr || !is_argument(**op)) {
      fail("arguments: expected inputs and weights of the graph, got {}; legal: {}, in any order",
           !tensor.defined() ? "an undefined tensor"
           : op == nullptr   ? tensor.name() + ", which no output needs"
                             : (*op)->name + ", which is neither",
           legal);
    }
    if (std::count(stated.begin(), stated.end(), *op)) {
      fail("arguments: expected each input and weight once, got {} twice; legal: {}, in any order",
           (*op)->name, legal);
    }
    stated.push_back(*op);
  }
  for (const OpPtr& op : own) {
    if (std::count(stated.begin(), stated.end(), op)) continue;
    fail(
        "arguments: expected every input and weight of the graph, got {} without {}; legal: {}, "
        "in any order",
        names_of(stated), op->name, legal);
  }
  Graph result = *this;
  result.put_first(stated);
  return result;
}

const OpPtr* Graph::find(const std::string& name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &ops_[found->second];
}

bool Graph::is_output(const Op& op) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const OpPtr& output) { return output.get() == &op; });
}

int Graph::user_count(const Op& op) const {
  int count = 0;
  for (const OpPtr& user : ops_) {
    for (const OpPtr& operand : operands(*user)) count += operand.get() == &op;
  }
  for (const OpPtr& output : outputs_) count += output.get() == &op;
  return count;
}

std::string Graph::name_of(const Tensor& tensor) const {
  if (tensor.defined()) {
    auto found = names_of_originals_.find(tensor.op().get());
    if (found != names_of_originals_.end()) return found->second;
    // A tensor of another graph over the same description: the name decides, unless it is
    // ambiguous.
    if (!tensor.op()->auto_named && find(tensor.name())) return tensor.name();
  }
  fail("graph: expected one of its operations ({}), got {}", names_of(ops_),
       tensor.defined() ? tensor.name() : "an undefined tensor");
}

bool Graph::has_name(const std::string& name) const {
  return by_name_.count(name) > 0 || names_.count(name) > 0;
}

}  // namespace emulsion

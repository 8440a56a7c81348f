#include "passes/rewrite/merge_common_ops.h"

#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/rewrite/map_ops.h"

namespace emulsion {
namespace {

void mix(size_t value, size_t* hash) {
  *hash ^= value + 0x9e3779b97f4a7c15u + (*hash << 6) + (*hash >> 2);
}

size_t bits_of(double value) {
  size_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

size_t hash_of(const Expr& root) {
  std::unordered_map<const ExprNode*, size_t> done;
  visit(root, [&](const Expr& e) {
    size_t hash = static_cast<size_t>(e->op);
    mix(static_cast<size_t>(e->dtype), &hash);
    mix(static_cast<size_t>(e->int_value), &hash);
    mix(bits_of(e->float_value), &hash);
    // The name of a read is that of its tensor.
    mix(e->op == ExprOp::read ? std::hash<const Op*>()(e->tensor.get())
                              : std::hash<std::string>()(e->name),
        &hash);
    for (const Expr& arg : e->args) mix(done.at(&arg.node()), &hash);
    done[&e.node()] = hash;
  });
  return done.at(&root.node());
}

// An operation with axes that are named by their place.
struct Canonical {
  OpPtr op;
  Expr body;

  explicit Canonical(const OpPtr& of) : op(of) {
    if (op->kind != OpKind::compute) return;
    body = substitute_axes(op->body, [&](const std::string& name) {
      if (auto i = axis_index(op->axes, name)) return axis_value("a" + std::to_string(*i));
      return axis_value("r" + std::to_string(axis_index(op->reduction_axes, name).value()));
    });
  }

  size_t hash() const {
    size_t hash = static_cast<size_t>(op->kind);
    mix(static_cast<size_t>(op->dtype), &hash);
    mix(static_cast<size_t>(op->combiner), &hash);
    mix(std::hash<std::string>()(to_string(op->shape)), &hash);
    if (body.defined()) mix(hash_of(body), &hash);
    if (op->data) {
      const std::string bytes(op->data->begin(), op->data->end());
      mix(std::hash<std::string>()(bytes), &hash);
    }
    return hash;
  }

  bool operator==(const Canonical& other) const {
    const Op &a = *op, &b = *other.op;
    if (a.kind != b.kind || a.dtype != b.dtype || a.shape != b.shape || a.combiner != b.combiner ||
        a.reduction_axes.size() != b.reduction_axes.size()) {
      return false;
    }
    for (size_t i = 0; i < a.reduction_axes.size(); ++i) {
      if (a.reduction_axes[i].extent() != b.reduction_axes[i].extent()) return false;
    }
    if (a.kind == OpKind::constant) return *a.data == *b.data;
    return equal(body, other.body);
  }
};

}  // namespace

Graph merge_common_ops(const Graph& graph) {
  std::unordered_map<size_t, std::vector<Canonical>> known;
  return map_ops(graph, [&](const OpPtr& op) {
    if (op->kind != OpKind::compute && op->kind != OpKind::constant) return op;
    const Canonical canonical(op);
    std::vector<Canonical>& alike = known[canonical.hash()];
    if (!graph.is_output(**graph.find(op->name))) {
      for (const Canonical& one : alike) {
        if (canonical == one) return one.op;
      }
    }
    alike.push_back(canonical);
    return op;
  });
}

}  // namespace emulsion

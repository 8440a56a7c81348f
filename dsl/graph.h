#ifndef EMULSION_DSL_GRAPH_H_
#define EMULSION_DSL_GRAPH_H_

// A graph: the outputs a user asked for and everything they need, in topological order, with unique
// names. Inputs and weights come first, in the order in which the kernel takes them. Making a Graph
// is where names become final: an op that the user named keeps its name (two of the same name are
// an Error), an op that an operator named gets a number when the name is taken. Immutable.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/tensor.h"

namespace emulsion {

// In whose steps the operations of a loop group are computed.
enum class LoopGroupKind : uint8_t {
  rows,          // a row of the last one: softmax, norms, losses
  columns,       // a block of columns: the same along an axis that is not the last, batch norms
  row_blocks,    // a block of rows, for a contraction that reads rows: attention, layers
  windows,       // a row; of the others those that the next rows need too are kept: stencils
  waiting_sums,  // a tile of sums, in registers while what reads them is computed
};

// Operations that no single expression holds, computed together all the same: of each but the last
// no more than a part is there at a time, inside the loops of the last one; of windows over
// run-time sizes, where a call has work enough for threads. That one alone is read by the outside;
// of rows also others, which are kept: each step of the loops computes its part of them, and they
// are stored whole.
struct LoopGroup {
  LoopGroupKind kind;
  // One after another in the graph: operations, groups of them (OpKind::fused), and between them
  // what is stored nowhere (moves, and what is computed for these alone).
  std::vector<OpPtr> members;
  // Which axes of the last one say which part, in their order: its first ones, but of rows, which
  // may be told by any (a channel of all pictures), and of columns, whose last axis is always one
  // of these, a block of it at a time.
  std::vector<size_t> axes;
};

class Graph {
 public:
  Graph(const Tensor& output);  // NOLINT: lower(y, ...) takes a graph
  Graph(const Func& output);    // NOLINT
  explicit Graph(const std::vector<Tensor>& outputs);
  // A pass's result: ops already in topological order with final names. Checked by verify_graph().
  Graph(std::vector<OpPtr> ops, std::vector<OpPtr> outputs, std::vector<LoopGroup> loops = {});

  const std::vector<OpPtr>& ops() const { return ops_; }  // producers before users
  const std::vector<OpPtr>& outputs() const { return outputs_; }
  // In the order of ops(). A pass that rewrites operations leaves them out.
  const std::vector<LoopGroup>& loop_groups() const { return loop_groups_; }
  // What the kernel takes, in order: inputs and weights as they were declared (tensor.h), or as the
  // function below says. The outputs follow them, in the order of outputs().
  std::vector<OpPtr> arguments() const;
  // The same graph with its inputs and weights in this order: Graph(y).arguments({fg, bg, alpha}).
  // Error: one that is left out, named twice, or none of its inputs and weights.
  [[nodiscard]] Graph arguments(const std::vector<Tensor>& order) const;
  const OpPtr* find(const std::string& name) const;
  bool is_output(const Op& op) const;
  // How many ops read `op` (each once), plus one for each time it is an output.
  int user_count(const Op& op) const;
  // The final name of a tensor that the user built this graph from; Error when it is not in the
  // graph.
  std::string name_of(const Tensor& tensor) const;
  // Sorted names of the run-time sizes.
  const std::vector<std::string>& sizes() const { return sizes_; }
  // Whether an operation, a member of a group or a run-time size has this name.
  bool has_name(const std::string& name) const;

 private:
  void index();
  void collect_names(std::set<std::string> sizes);
  // `arguments`: the graph's inputs and weights, each once.
  void put_first(const std::vector<OpPtr>& arguments);
  std::vector<OpPtr> ops_;
  std::vector<OpPtr> outputs_;
  std::vector<LoopGroup> loop_groups_;
  std::unordered_map<const Op*, std::string> names_of_originals_;
  std::vector<OpPtr> originals_;  // keeps the keys above alive
  std::unordered_map<std::string, size_t> by_name_;
  std::vector<std::string> sizes_;
  std::set<std::string> names_;  // beside those of by_name_
};

// The ops that an op reads directly, each once, in the order of first read (of all members, for a
// fused op; members themselves are left out).
std::vector<OpPtr> operands(const Op& op);
// The comprehension whose axes and value an operation has: itself, or the last member.
const Op& result_of(const Op& op);
// A copy of `op` in which every read of a key of `replacement` reads the value; the same op when
// nothing changed.
OpPtr replace_reads(const OpPtr& op, const std::unordered_map<const Op*, OpPtr>& replacement);
// Checks what a Graph promises (order, names, types, ranks, axes; of loop groups, who reads what);
// throws InternalError.
void verify_graph(const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_DSL_GRAPH_H_

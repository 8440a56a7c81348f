#ifndef EMULSION_PASSES_REWRITE_WORKING_GRAPH_H_
#define EMULSION_PASSES_REWRITE_WORKING_GRAPH_H_

// A graph that changes: users are known at any time, and what nobody needs any more is gone.
// Private to passes/rewrite/.

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/graph.h"
#include "passes/rewrite/make_replacement.h"

namespace emulsion {

class WorkingGraph {
 public:
  using Id = size_t;

  explicit WorkingGraph(const Graph& graph);

  const std::vector<Id>& order() const { return order_; }
  void set_order(const std::vector<Id>& order);
  // Producers before users again, as little as possible of the order changed.
  void sort();
  bool is_alive(Id id) const { return nodes_[id].alive; }
  bool is_output(Id id) const { return nodes_[id].is_output; }
  Id id_of(const Op& op) const { return ids_.at(&op); }
  bool is_known(const Op& op) const { return nodes_[id_of(op)].is_known; }

  const OpPtr& op(Id id) const { return nodes_[id].op; }

  // Lets every op read what took the place of what it read.
  void rewire();
  std::string new_name(const std::string& proposal);

  std::vector<OpPtr> users(Id id) const;
  // Users of `id` that are none of these.
  std::vector<std::string> other_users(Id id, const std::set<Id>& inside) const;
  // The first of `from` that is one of `these` or is computed of one, or nothing.
  std::optional<Id> depends_on(const std::set<Id>& from, const std::set<Id>& these) const;

  // The ids of what was made, in order. What is replaced goes, and all that only it needed.
  std::vector<Id> replace(const std::vector<Id>& replaced, const Replacement& replacement);

  Graph graph();

 private:
  static constexpr Id kNone = static_cast<Id>(-1);
  struct Node {
    OpPtr op;
    std::set<Id> operands, users;
    Id forward = kNone;
    bool is_output = false, is_known = false, alive = true;
  };

  Id forwarded(Id id) const;
  Id add(const OpPtr& op);
  void remove(Id first);

  std::vector<Node> nodes_;
  std::vector<Id> order_, outputs_;
  std::unordered_map<const Op*, Id> ids_;
  std::vector<OpPtr> kept_;  // the keys above stay other objects' than those to come
  std::set<std::string> names_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_WORKING_GRAPH_H_

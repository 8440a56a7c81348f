#include "passes/nest/spread_prefetches.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "passes/index/collect_terms.h"
#include "passes/index/index_table.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/costly_part.h"
#include "passes/nest/prefetch_box.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// Half a line of the cache, which vectors of AVX2 are: asking twice costs less than all at once.
constexpr int64_t kLeastBytes = 32;

using Box = std::vector<std::optional<IndexRange>>;

bool is_zero(const Expr& index) { return constant_value(collect_terms(index)) == 0; }

bool equal_boxes(const Box& a, const Box& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x && y && is_zero(x->first - y->first) && is_zero(x->last - y->last);
  });
}

bool is_read_by(const LoopNest& nest, const UopNode& uop, const std::string& buffer) {
  return uop.part != Part::init && reads(body_of(nest.stage(uop.stage), uop), buffer);
}

// Whether it computes for long: an exponential and the like of what it reads.
bool takes_series_of(const Expr& body, const std::string& buffer) {
  bool found = false;
  visit(body, [&](const Expr& e) { found = found || (is_series(e->op) && reads(e, buffer)); });
  return found;
}

// Of the stages in a loop that read all that it does of a buffer, the last one that computes a
// series of it, else the last one. Empty where there is none.
std::string reader_of_all(const LoopNest& nest, const Loop& loop, const std::string& buffer) {
  const Box all = prefetch_box(nest, loop, buffer);
  std::set<std::string> seen;
  std::string last, computing;
  for_each_node(*loop.body, [&](const Node& node) {
    const UopNode* uop = node.as<UopNode>();
    if (uop == nullptr || !is_read_by(nest, *uop, buffer) || !seen.insert(uop->stage).second)
      return;
    if (!equal_boxes(all, prefetch_box(nest, loop, buffer, uop->stage))) return;
    last = uop->stage;
    if (takes_series_of(body_of(nest.stage(uop->stage), *uop), buffer)) computing = uop->stage;
  });
  return computing.empty() ? last : computing;
}

// Where a stage asks for its share of a prefetch of a loop around it.
class Places : public NestVisitor {
 public:
  Places(const LoopNest& nest, const Loop& loop, const Prefetch& prefetch, std::string reader)
      : nest_(nest), variable_(loop.variable()), prefetch_(prefetch), reader_(std::move(reader)) {
    walk(*loop.body);
  }

  std::set<const Loop*> found;
  bool all = true;  // whether each of its reads is in one of these

 private:
  void visit_loop(const Loop& loop) override {
    around_.push_back(&loop);
    walk(*loop.body);
    around_.pop_back();
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.stage != reader_ || !is_read_by(nest_, uop, prefetch_.buffer)) return;
    const auto place = std::find_if(around_.rbegin(), around_.rend(),
                                    [&](const Loop* loop) { return reads_enough(*loop); });
    // Else what it reads in that step is at other steps of its own loops.
    const bool are_same_steps = std::none_of(around_.begin(), around_.end(), [&](const Loop* loop) {
      return mentions(loop->min, variable_) || mentions(loop->extent, variable_);
    });
    all = all && place != around_.rend() && are_same_steps;
    if (all) found.insert(*place);
  }

  bool reads_enough(const Loop& loop) const {
    if (loop.kind != LoopKind::serial) return false;
    const Box box = prefetch_box(nest_, loop, prefetch_.buffer, reader_);
    const bool is_known =
        !box.empty() &&
        std::all_of(box.begin(), box.end(), [](const auto& range) { return range.has_value(); });
    if (!is_known) return false;
    const Expr elements = collect_terms(box.back()->last - box.back()->first + int_constant(1));
    const std::optional<int64_t> known = constant_value(elements);
    return !known || *known * size_in_bytes(nest_.buffer(prefetch_.buffer).dtype) >= kLeastBytes;
  }

  const LoopNest& nest_;
  const std::string variable_;
  const Prefetch& prefetch_;
  const std::string reader_;
  std::vector<const Loop*> around_;  // inside the loop, outermost first
};

class PrefetchSpreader : public NestMutator {
 public:
  explicit PrefetchSpreader(const LoopNest& nest) : nest_(nest) {}

 private:
  NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
    std::vector<Prefetch> own;
    for (const Prefetch& prefetch : loop.prefetches) {
      if (!prefetch.ahead_of.empty() || !spread(loop, prefetch)) own.push_back(prefetch);
    }
    NodePtr inside = mutate_inside(node);
    if (const auto shares = shares_.find(&loop); shares != shares_.end()) {
      own.insert(own.end(), shares->second.begin(), shares->second.end());
    } else if (own.size() == loop.prefetches.size()) {
      return inside;
    }
    Loop made = *inside->as<Loop>();
    made.prefetches = std::move(own);
    return make_node(std::move(made));
  }

  // Gives the loops inside their shares. False where it stays whole.
  bool spread(const Loop& loop, const Prefetch& prefetch) {
    const std::string reader = reader_of_all(nest_, loop, prefetch.buffer);
    if (reader.empty()) return false;
    const Places places(nest_, loop, prefetch, reader);
    if (!places.all || places.found.empty()) return false;
    for (const Loop* place : places.found) {
      Prefetch share = prefetch;
      share.ahead_of = loop.variable();
      shares_[place].push_back(share);
    }
    return true;
  }

  const LoopNest& nest_;
  std::map<const Loop*, std::vector<Prefetch>> shares_;
};

}  // namespace

LoopNest spread_prefetches(const LoopNest& nest) {
  LoopNest result = nest;
  if (nest.root) result.root = PrefetchSpreader(nest).mutate(nest.root);
  return result;
}

}  // namespace emulsion

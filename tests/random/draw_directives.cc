#include "tests/random/draw_directives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

const Names kTails = {"",           ", automatic",     ", guard",           ", predicate",
                      ", round_up", ", shift_inwards", ", predicate_loads", ", predicate_stores"};

// What every stage reads: of the graph, then of what directives make of it.
std::map<std::string, Names> reads_of(const Graph& graph, const Schedule& schedule) {
  std::map<std::string, Names> reads;
  for (const OpPtr& op : graph.ops()) {
    if (op->kind != OpKind::compute) continue;
    for (const OpPtr& from : operands(*op)) reads[op->name].push_back(from->name);
  }
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::alternative) {
        reads[d.target] = reads[name];
      } else if (d.kind == DirectiveKind::cache_write || d.kind == DirectiveKind::rfactor) {
        reads[d.target] = reads[name];
        reads[name] = {d.target};
      } else if (d.kind == DirectiveKind::copy_in) {
        reads[d.target] = {d.operand};
        std::replace(reads[name].begin(), reads[name].end(), d.operand, d.target);
      }
    }
  }
  return reads;
}

class MoveWriter {
 public:
  MoveWriter(const Graph& graph, const Schedule& schedule, const LoopsOfStages& stages,
             RandomNumbers* random, int number)
      : graph_(graph),
        stages_(stages),
        reads_(reads_of(graph, schedule)),
        random_(*random),
        number_(number) {
    for (const auto& [name, axes] : stages) names_.push_back(name);
    choose(random_.of(names_));
  }

  ScheduleLines draw() {
    struct Move {
      int weight;
      void (MoveWriter::*write)();
    };
    static const std::vector<Move> kMoves = {
        {10, &MoveWriter::split},
        {5, &MoveWriter::tile},
        {6, &MoveWriter::fuse},
        {8, &MoveWriter::reorder},
        {11, &MoveWriter::vectorize},
        {8, &MoveWriter::unroll},
        {6, &MoveWriter::parallel},
        {5, &MoveWriter::partition},
        {6, &MoveWriter::cut},
        {2, &MoveWriter::tensorize},
        {17, &MoveWriter::compute_at},
        {3, &MoveWriter::compute_root},
        {7, &MoveWriter::compute_inline},
        {6, &MoveWriter::store_in},
        {6, &MoveWriter::store_in_output},
        {16, &MoveWriter::window},
        {9, &MoveWriter::hoisted},
        {4, &MoveWriter::kept},
        {6, &MoveWriter::kept_whole},
        {4, &MoveWriter::align_storage},
        {4, &MoveWriter::reorder_storage},
        {5, &MoveWriter::cache_write},
        {7, &MoveWriter::rfactor},
        {4, &MoveWriter::split_reduction},
        {8, &MoveWriter::copy_in},
        {6, &MoveWriter::precompute},
        {7, &MoveWriter::pack},
        {6, &MoveWriter::atomic},
        {9, &MoveWriter::prefetch},
        {5, &MoveWriter::specialize},
        {4, &MoveWriter::alternative},
        {12, &MoveWriter::compute_with},
    };
    int total = 0;
    for (const Move& move : kMoves) total += move.weight;
    int at = random_.below(total);
    for (const Move& move : kMoves) {
      at -= move.weight;
      if (at >= 0) continue;
      (this->*move.write)();
      break;
    }
    return lines_;
  }

 private:
  void choose(const std::string& stage) {
    stage_ = stage;
    const StageLoops& loops = stages_.at(stage);
    const std::set<std::string> reduction = loops.reduction_loops();
    loops_ = loops_of(stage);
    reduction_.assign(reduction.begin(), reduction.end());
    pure_ = loops.pure();
  }

  Names loops_of(const std::string& stage) const { return names_of(stages_.at(stage).loops()); }
  bool is_reduction(const std::string& stage) const {
    return !stages_.at(stage).reduction().empty();
  }

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(stage_ + "." + fmt::format(format, std::forward<Args>(args)...));
  }

  std::string fresh(const std::string& base) const { return fmt::format("{}{}", base, number_); }
  std::string any(const Names& names) { return names.empty() ? "none" : random_.of(names); }
  std::string loop() { return any(loops_); }
  int factor() { return random_.of(std::vector<int>{1, 2, 2, 3, 4, 4, 5, 8}); }
  std::string tail() { return random_.of(kTails); }

  std::string shuffled(Names names) {
    for (size_t i = names.size(); i > 1; --i) {
      std::swap(names[i - 1], names[static_cast<size_t>(random_.below(static_cast<int>(i)))]);
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  // A stage that reads this one, as a rule: else any.
  std::string reader() {
    Names readers;
    for (const auto& [name, read] : reads_) {
      if (stages_.count(name) && std::count(read.begin(), read.end(), stage_)) {
        readers.push_back(name);
      }
    }
    return readers.empty() || random_.chance(0.1) ? random_.of(names_) : random_.of(readers);
  }

  // Something that the operation reads.
  std::string operand() {
    const Names& read = reads_[stage_];
    return read.empty() || random_.chance(0.05) ? random_.of(names_) : random_.of(read);
  }

  // One that others read: the outputs have no place and no storage.
  void choose_inner() {
    Names inner;
    for (const std::string& name : names_) {
      const Names& outputs = graph_output_names();
      if (!std::count(outputs.begin(), outputs.end(), name)) inner.push_back(name);
    }
    if (!inner.empty() && random_.chance(0.95)) choose(random_.of(inner));
  }

  Names graph_output_names() const {
    Names names;
    for (const OpPtr& op : graph_.outputs()) names.push_back(op->name);
    return names;
  }

  void choose_reduction() {
    Names reductions;
    for (const std::string& name : names_) {
      if (!stages_.at(name).reduction_loops().empty()) reductions.push_back(name);
    }
    if (!reductions.empty()) choose(random_.of(reductions));
  }

  void split_loop(const std::string& axis) {
    const std::string outer = random_.chance(0.2) ? axis : fresh("o");
    line("split({}, {}, {}, {}{})", axis, outer, fresh("i"), factor(), tail());
  }

  void split() { split_loop(loop()); }

  void tile() {
    if (loops_.size() < 2) return split();
    const auto at = static_cast<size_t>(random_.below(static_cast<int>(loops_.size()) - 1));
    line("tile({}, {}, {}, {}, {}, {}, {}, {}{})", loops_[at], loops_[at + 1], fresh("mo"),
         fresh("no"), fresh("mi"), fresh("ni"), factor(), factor(), tail());
  }

  void fuse() {
    if (loops_.size() < 2) return;
    const auto at = static_cast<size_t>(random_.below(static_cast<int>(loops_.size()) - 1));
    line("fuse({}, {}, {})", loops_[at], loops_[at + 1], fresh("f"));
  }

  void reorder() {
    if (loops_.size() > 1) line("reorder({})", shuffled(loops_));
  }

  void vectorize() {
    if (random_.chance(0.4)) return line("vectorize({})", loop());
    line("vectorize({}, {}{})", loop(), factor(), tail());
  }

  void unroll() {
    if (random_.chance(0.4)) return line("unroll({})", loop());
    line("unroll({}, {}{})", loop(), factor(), tail());
  }

  void parallel() { line("parallel({})", loop()); }
  void partition() { line("partition({})", loop()); }
  void tensorize() { line("tensorize({})", loop()); }

  // Once or twice, of what is no reduction, as a rule.
  void cut() {
    if (is_reduction(stage_) && random_.chance(0.9)) return;
    const std::string axis = any(pure_);
    for (int times = random_.between(1, 2); times > 0; --times) {
      const bool by_size = !graph_.sizes().empty() && random_.chance(0.3);
      const std::string index = std::to_string(random_.between(1, 5));
      line("cut({}, {})", axis,
           by_size ? replaced(random_.of(Names{"{}", "{} + 1", "{} + 2", "2*{}"}),
                              graph_.sizes().front())
                   : index);
    }
  }

  void compute_at() {
    choose_inner();
    const std::string target = reader();
    line("compute_at({}, {})", target, any(loops_of(target)));
  }

  void compute_root() { line("compute_root()"); }

  void compute_inline() {
    choose_inner();
    line("compute_inline()");
  }

  void store_in() {
    choose_inner();
    line("store_in({})", any({"heap", "stack", "registers"}));
  }

  void store_in_output() {
    choose_inner();
    const std::string target = reader();
    if (random_.chance(0.6)) line("compute_at({}, {})", target, any(loops_of(target)));
    line("store_in_output({})", target);
  }

  // Computed at a loop of a reader and stored at one around it: two loops of the reader, the outer
  // one first.
  void window() {
    choose_inner();
    const std::string target = reader();
    const auto [outer, inner] = two_loops(target);
    line("compute_at({}, {})", target, inner);
    if (random_.chance(0.5)) {
      line("store_root()");
    } else {
      line("store_at({}, {})", target, outer);
    }
    if (random_.chance(0.5)) line("fold_storage({}, {})", any(pure_), random_.between(2, 9));
  }

  void hoisted() {
    choose_inner();
    const std::string target = reader();
    const auto [outer, inner] = two_loops(target);
    line("compute_at({}, {})", target, inner);
    line("hoist_storage({}, {})", target, outer);
  }

  std::pair<std::string, std::string> two_loops(const std::string& stage) {
    const Names loops = loops_of(stage);
    if (loops.empty()) return {"none", "none"};
    const int inner = random_.below(static_cast<int>(loops.size()));
    return {loops[static_cast<size_t>(random_.below(inner + 1))],
            loops[static_cast<size_t>(inner)]};
  }

  // One of the same by itself, for a stage that an earlier move has placed.
  void kept() {
    choose_inner();
    const std::string target = reader();
    switch (random_.below(4)) {
      case 0:
        return line("store_root()");
      case 1:
        return line("store_at({}, {})", target, any(loops_of(target)));
      case 2:
        return line("hoist_storage({}, {})", target, any(loops_of(target)));
      default:
        return line("fold_storage({}, {})", any(pure_), random_.between(2, 9));
    }
  }

  // An output, or what several read, in the loops of one of them or of another output.
  void kept_whole() {
    Names wanted = graph_output_names();
    const size_t outputs = wanted.size();
    for (const std::string& name : names_) {
      int readers = 0;
      for (const auto& [reader, read] : reads_)
        readers += std::count(read.begin(), read.end(), name);
      if (readers > 1) wanted.push_back(name);
    }
    const auto at = static_cast<size_t>(random_.below(static_cast<int>(wanted.size())));
    if (stages_.count(wanted[at]) == 0) return;
    choose(wanted[at]);
    const std::string target = random_.chance(0.8) ? reader() : random_.of(graph_output_names());
    if (stages_.count(target) == 0) return;
    line("compute_at({}, {})", target, any(loops_of(target)));
    if (at >= outputs) line("store_root()");
  }

  void align_storage() {
    choose_inner();
    line("align_storage({}, {})", any(pure_), 2 * factor());
  }

  void reorder_storage() {
    choose_inner();
    line("reorder_storage({})", shuffled(pure_));
  }

  void cache_write() { line("cache_write({})", fresh("acc")); }

  void rfactor() {
    choose_reduction();
    if (reduction_.empty()) return;
    const std::string axis = any(reduction_);
    if (random_.chance(0.4)) return line("rfactor({}, {})", axis, fresh("part"));
    line("split({}, {}, {}, {})", axis, fresh("o"), fresh("i"), factor());
    line("rfactor({}, {})", fresh(random_.chance(0.5) ? "o" : "i"), fresh("part"));
  }

  void split_reduction() {
    choose_reduction();
    if (!reduction_.empty()) split_loop(any(reduction_));
  }

  void copy_in() { line("copy_in({}, {})", operand(), fresh("copy")); }

  // Of an operation that has such a part, as a rule.
  void precompute() {
    Names stages;
    for (const OpPtr& op : graph_.ops()) {
      if (stages_.count(op->name) == 0 || op->kind != OpKind::compute) continue;
      const bool divides = any_part(
          op->body, [](const Expr& e) { return e->op == ExprOp::div && e.dtype() == f32; });
      if (divides) stages.push_back(op->name);
    }
    if (!stages.empty() && random_.chance(0.9)) choose(random_.of(stages));
    line("precompute({}, {})", any(pure_), fresh("once"));
  }

  // Of a stage that reads a weight, as a rule.
  void pack() {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& [name, read] : reads_) {
      for (const std::string& from : read) {
        const OpPtr* op = graph_.find(from);
        if (stages_.count(name) && op != nullptr && (*op)->kind == OpKind::weight) {
          pairs.emplace_back(name, from);
        }
      }
    }
    std::string weight = operand();
    if (!pairs.empty()) {
      const auto& [name, from] = random_.of(pairs);
      choose(name);
      weight = from;
    }
    line("pack({}, {}, {})", weight, any(pure_), factor());
  }

  // Alone, and with what it is for.
  void atomic() {
    choose_reduction();
    line("atomic()");
    if (reduction_.empty() || random_.chance(0.3)) return;
    const std::string axis = any(reduction_);
    if (random_.chance(0.5)) return line("parallel({})", axis);
    line("split({}, {}, {}, {})", axis, fresh("o"), fresh("i"), factor());
    line("vectorize({})", fresh("i"));
  }

  // Of what the operation reads, or what may be computed inside its loop.
  void prefetch() {
    std::string buffer = operand();
    if (random_.chance(0.25)) {
      const Names& read = reads_[random_.of(names_)];
      if (!read.empty()) buffer = random_.of(read);
    }
    line("prefetch({}, {}, {})", buffer, loop(), random_.between(1, 3));
  }

  std::string condition() {
    const std::string text = random_.of(Names{"{} == 1", "{} >= 4", "{} % 4 == 0", "{} == 5",
                                              "{} > 0", "{} < 8", "{} > 2 && {} % 2 == 1"});
    return replaced(text, graph_.sizes().front());
  }

  void specialize() {
    if (graph_.sizes().empty()) return;
    line("specialize({})", condition());
  }

  // Alone, or with a specialization of what reads it, which leaves out one or the other.
  void alternative() {
    if (graph_.sizes().empty()) return;
    const std::string where = condition();
    line("alternative({}, {})", where, fresh("other"));
    if (random_.chance(0.3)) return;
    if (graph_.find(stage_) != nullptr && graph_.is_output(**graph_.find(stage_))) {
      return line("specialize({})", where);  // an output chooses itself
    }
    for (const auto& [reader, read] : reads_) {
      if (std::count(read.begin(), read.end(), stage_) == 0 || stages_.count(reader) == 0) continue;
      choose(reader);
      return line("specialize({})", where);
    }
  }

  static std::string replaced(std::string text, const std::string& by) {
    for (size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}")) {
      text.replace(at, 2, by);
    }
    return text;
  }

  // Two stages whose outer loops have the same names, neither of which reads the other, as a rule.
  // Both reduce or neither does. Also with a split of both.
  void compute_with() {
    struct Pair {
      std::string stage, sibling, loop;
    };
    std::vector<Pair> pairs;
    for (const std::string& one : names_) {
      for (const std::string& other : names_) {
        if (one == other || depends_on(one, other) || depends_on(other, one)) continue;
        if (is_reduction(one) != is_reduction(other)) continue;
        const Names mine = loops_of(one), theirs = loops_of(other);
        for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
          if (mine[i] != theirs[i]) break;
          pairs.push_back({one, other, mine[i]});
        }
      }
    }
    if (pairs.empty()) return;
    const Pair& pair = random_.of(pairs);
    const bool splits = random_.chance(0.3);
    if (splits) {
      const std::string call =
          fmt::format("split({}, {}, {}, {})", pair.loop, fresh("o"), fresh("i"), factor());
      for (const std::string& name : {pair.sibling, pair.stage}) {
        choose(name);
        line("{}", call);
      }
    }
    choose(pair.stage);
    line("compute_with({}, {})", pair.sibling, splits ? fresh("o") : pair.loop);
  }

  bool depends_on(const std::string& stage, const std::string& other) const {
    auto found = reads_.find(stage);
    return found != reads_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const std::string& from) {
             return from == other || depends_on(from, other);
           });
  }

  const Graph& graph_;
  const LoopsOfStages& stages_;
  std::map<std::string, Names> reads_;
  RandomNumbers& random_;
  int number_;
  Names names_, loops_, reduction_, pure_;
  std::string stage_;
  ScheduleLines lines_;
};

}  // namespace

ScheduleLines draw_directives(const Graph& graph, const Schedule& schedule,
                              const LoopsOfStages& stages, RandomNumbers* random, int number) {
  return MoveWriter(graph, schedule, stages, random, number).draw();
}

}  // namespace emulsion

#include "backends/halide/transpose_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/one_lane.h"
#include "backends/halide/transpose_parts.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// Of fewer columns Halide's shuffles are as good.
constexpr int kLeastColumns = 5;

int columns_in_part(const Halide::Type& type) { return 128 / type.bits(); }

bool may_be_transposed(const Halide::Type& type) {
  if (type.bits() != 32 && type.bits() != 64) return false;
  return type.lanes() > 1 && type.lanes() % columns_in_part(type) == 0;
}

// Places of which each lane is in another row: those in column 0, and the column. Some rows may be
// the same one: the last, for lanes beyond the end. Or a mask leaves them out.
struct AcrossRows {
  Halide::Expr rows;
  int64_t column;
};

// Of a run-time number of elements it is not known, and taken for far.
bool is_far(const Halide::Expr& stride) {
  const auto* same = stride.as<hi::Broadcast>();
  const Halide::Expr& of_each = same ? same->value : stride;
  const auto steps = hi::as_const_int(of_each);
  return steps ? *steps >= kLeastColumns : of_each.type().is_scalar();
}

// Whether its lanes are in rows that lie apart.
bool are_rows(const Halide::Expr& places) {
  if (const auto* ramp = places.as<hi::Ramp>()) return is_far(ramp->stride);
  const auto* product = places.as<hi::Mul>();
  return product != nullptr && is_far(product->b);
}

std::optional<AcrossRows> across_rows(const Halide::Expr& index, const Halide::Expr& mask) {
  if (!one_lane(mask, 0).defined()) return std::nullopt;
  AcrossRows made{index, 0};
  if (const auto* ramp = index.as<hi::Ramp>(); ramp && ramp->base.type().is_scalar()) {
    const auto* sum = ramp->base.as<hi::Add>();
    const auto column = hi::as_const_int(sum ? sum->b : ramp->base);
    made.column = column.value_or(0);
    if (column) {
      const Halide::Expr base = sum ? sum->a : hi::make_zero(ramp->base.type());
      made.rows = hi::Ramp::make(base, ramp->stride, ramp->lanes);
    }
  } else if (const auto* sum = index.as<hi::Add>()) {
    const auto* same = sum->b.as<hi::Broadcast>();
    const auto column = same ? hi::as_const_int(same->value) : std::nullopt;
    if (column) made = {sum->a, *column};
  }
  if (!are_rows(made.rows) || !one_lane(made.rows, 0).defined()) return std::nullopt;
  return made;
}

// What is loaded of such places.
struct LoadedRows {
  const hi::Load* load;
  AcrossRows at;
};
std::optional<LoadedRows> loaded_rows(const hi::Load* load) {
  if (!may_be_transposed(load->type)) return std::nullopt;
  const std::optional<AcrossRows> at = across_rows(load->index, load->predicate);
  return at ? std::optional(LoadedRows{load, *at}) : std::nullopt;
}

// The columns that statements load of the same rows.
struct Columns {
  LoadedRows first;
  int64_t least, most;

  bool have(const LoadedRows& load) const {
    return load.load->name == first.load->name && load.load->type == first.load->type &&
           hi::equal(load.at.rows, first.at.rows) &&
           hi::equal(load.load->predicate, first.load->predicate);
  }
};

bool are_enough(const Columns& columns) {
  return columns.most - columns.least >= kLeastColumns - 1;
}

// What is loaded under no condition, of rows that depend on no name of the statement: the copies of
// an unrolled loop give one name to different rows.
class FindColumns : public hi::IRVisitor {
 public:
  std::vector<Columns> found;

 private:
  using hi::IRVisitor::visit;

  void visit(const hi::Load* op) override {
    hi::IRVisitor::visit(op);
    const std::optional<LoadedRows> load = loaded_rows(op);
    if (!load || hi::expr_uses_vars(load->at.rows, named_)) return;
    for (Columns& columns : found) {
      if (!columns.have(*load)) continue;
      columns.least = std::min(columns.least, load->at.column);
      columns.most = std::max(columns.most, load->at.column);
      return;
    }
    found.push_back({*load, load->at.column, load->at.column});
  }
  void visit(const hi::Call* op) override {
    if (!op->is_intrinsic(hi::Call::if_then_else)) return hi::IRVisitor::visit(op);
    op->args[0].accept(this);
  }
  void visit(const hi::Let* op) override {
    op->value.accept(this);
    const hi::ScopedBinding<> name(named_, op->name);
    op->body.accept(this);
  }
  void visit(const hi::LetStmt* op) override {
    op->value.accept(this);
    const hi::ScopedBinding<> name(named_, op->name);
    op->body.accept(this);
  }

  hi::Scope<> named_;
};

class LoadParts : public hi::IRMutator {
 public:
  explicit LoadParts(const std::vector<Columns>& all) : all_(all) {}

 private:
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Load* op) override {
    const std::optional<LoadedRows> load = loaded_rows(op);
    if (!load) return hi::IRMutator::visit(op);
    const int count = columns_in_part(op->type);
    for (const Columns& columns : all_) {
      if (!columns.have(*load)) continue;
      const int64_t at = load->at.column - columns.least, all = columns.most - columns.least + 1;
      if (at < 0 || at >= all || !are_enough(columns)) break;
      // Nothing is loaded outside of what is loaded anyway.
      const int64_t first = std::min(at / count * count, all - count);
      return column(parts_of_rows(*load, columns.least + first), static_cast<int>(at - first));
    }
    return op;
  }
  Halide::Expr visit(const hi::Call* op) override {
    return op->is_intrinsic(hi::Call::if_then_else) ? op : hi::IRMutator::visit(op);
  }

  // Vectors of which each part of 128 bits is of one row, from a column on: the first of each few
  // rows, the second, ..
  static std::vector<Halide::Expr> parts_of_rows(const LoadedRows& rows, int64_t first) {
    const hi::Load* load = rows.load;
    const int count = columns_in_part(load->type), lanes = load->type.lanes();
    std::vector<Halide::Expr> made;
    for (int row = 0; row < count; ++row) {
      std::vector<Halide::Expr> parts;
      for (int lane = row; lane < lanes; lane += count) {
        const Halide::Expr place = one_lane(rows.at.rows, lane) + static_cast<int>(first);
        const Halide::Expr index = hi::Ramp::make(hi::simplify(place), 1, count);
        const Halide::Expr mask = hi::Broadcast::make(one_lane(load->predicate, lane), count);
        parts.push_back(hi::Load::make(load->type.with_lanes(count), load->name, index, load->image,
                                       load->param, mask, {}));
      }
      made.push_back(parts.size() == 1 ? parts[0] : hi::Shuffle::make_concat(parts));
    }
    return made;
  }

  const std::vector<Columns>& all_;
};

// Whether either all of it runs, or nothing, and once.
bool is_straight(const Stmt& statement) {
  class Loops : public hi::IRVisitor {
   public:
    bool any = false;

   private:
    using hi::IRVisitor::visit;
    void visit(const hi::For*) override { any = true; }
    void visit(const hi::IfThenElse*) override { any = true; }
    void visit(const hi::Fork*) override { any = true; }
    void visit(const hi::Atomic*) override { any = true; }
    void visit(const hi::Acquire*) override { any = true; }
    void visit(const hi::AssertStmt*) override { any = true; }
  };
  Loops loops;
  statement.accept(&loops);
  return !loops.any;
}

// One behind another.
std::vector<Stmt> statements_of(const hi::Block* block) {
  std::vector<Stmt> all;
  Stmt rest = block;
  for (const auto* list = block; list != nullptr; list = rest.as<hi::Block>()) {
    all.push_back(list->first);
    rest = list->rest;
  }
  all.push_back(rest);
  return all;
}

// Puts values in the place of the names of scalar numbers that are made without loads and calls:
// each copy of an unrolled loop has a name of its own for the same row.
class InlineNumbers : public hi::IRMutator {
 private:
  using hi::IRMutator::visit;

  template <typename Let>
  auto without_name(const Let* op) -> decltype(op->body) {
    const Halide::Expr value = mutate(op->value);
    const bool is_number = value.type() == Halide::Int(32) && !loads_or_calls(value);
    if (!is_number) {
      auto body = mutate(op->body);
      return Let::make(op->name, value, body);
    }
    const hi::ScopedBinding<Halide::Expr> number(numbers_, op->name, value);
    return mutate(op->body);
  }
  Halide::Expr visit(const hi::Let* op) override { return without_name(op); }
  Stmt visit(const hi::LetStmt* op) override { return without_name(op); }
  Halide::Expr visit(const hi::Variable* op) override {
    return numbers_.contains(op->name) ? numbers_.get(op->name) : op;
  }

  static bool loads_or_calls(const Halide::Expr& value) {
    class Any : public hi::IRVisitor {
     public:
      bool any = false;

     private:
      using hi::IRVisitor::visit;
      void visit(const hi::Load*) override { any = true; }
      void visit(const hi::Call*) override { any = true; }
    };
    Any found;
    value.accept(&found);
    return found.any;
  }

  hi::Scope<Halide::Expr> numbers_;
};

class LoadRows : public hi::IRMutator {
 public:
  using hi::IRMutator::mutate;
  Stmt mutate(const Stmt& statement) override {
    return statement.defined() && statement.as<hi::Block>() == nullptr && is_straight(statement)
               ? of_straight(statement)
               : hi::IRMutator::mutate(statement);
  }

 private:
  using hi::IRMutator::visit;

  static Stmt of_straight(const Stmt& statement) {
    const Stmt plain = InlineNumbers().mutate(statement);
    FindColumns columns;
    plain.accept(&columns);
    const bool any = std::any_of(columns.found.begin(), columns.found.end(), are_enough);
    return any ? LoadParts(columns.found).mutate(plain) : statement;
  }

  // Statements one behind another without a loop are looked at together.
  Stmt visit(const hi::Block* op) override {
    std::vector<Stmt> made, straight;
    const auto close = [&] {
      if (!straight.empty()) made.push_back(of_straight(hi::Block::make(straight)));
      straight.clear();
    };
    const auto add = [&](const Stmt& statement) {
      if (is_straight(statement)) return straight.push_back(statement);
      close();
      made.push_back(mutate(statement));
    };
    for (const Stmt& statement : statements_of(op)) add(statement);
    close();
    return hi::Block::make(made);
  }
  // Found by its form.
  Stmt visit(const hi::Atomic* op) override { return op; }
};

// Values under names.
class Named {
 public:
  Halide::Expr name(const Halide::Expr& value) {
    values_.emplace_back(hi::unique_name("column"), value);
    return hi::Variable::make(value.type(), values_.back().first);
  }
  Stmt in_front_of(Stmt statement) const {
    for (auto value = values_.rbegin(); value != values_.rend(); ++value) {
      statement = hi::LetStmt::make(value->first, value->second, statement);
    }
    return statement;
  }

 private:
  std::vector<std::pair<std::string, Halide::Expr>> values_;
};

// Of a mask of interleaved vectors, whether each row is stored; nothing where its elements differ.
std::optional<std::vector<Halide::Expr>> stored_rows(const Halide::Expr& mask, int rows) {
  std::vector<Halide::Expr> stored(rows, hi::const_true());
  if (hi::is_const_one(mask)) return stored;
  const auto* all = mask.as<hi::Shuffle>();
  if (all == nullptr || !all->is_interleave()) return std::nullopt;
  for (const Halide::Expr& of_column : all->vectors) {
    if (!hi::equal(of_column, all->vectors[0])) return std::nullopt;
  }
  for (int row = 0; row < rows; ++row) {
    stored[row] = one_lane(all->vectors[0], row);
    if (!stored[row].defined()) return std::nullopt;
  }
  return stored;
}

// Stores of columns of rows, parts of 128 bits of each row: where a row begins, and whether it is
// stored, by lane.
struct Rows {
  std::vector<Halide::Expr> places, stored;
};
Stmt store_parts(const hi::Store* store, const std::vector<Halide::Expr>& of_columns,
                 const Rows& rows) {
  const Halide::Type type = of_columns[0].type();
  const int count = columns_in_part(type), columns = static_cast<int>(of_columns.size());
  Named named;
  std::vector<Halide::Expr> vectors, parts;
  for (const Halide::Expr& value : of_columns) vectors.push_back(named.name(value));
  std::vector<int> firsts;
  for (int next = 0; next < columns; next += count) {
    firsts.push_back(std::min(next, columns - count));
    const auto first = vectors.begin() + firsts.back();
    for (int row = 0; row < count; ++row) {
      parts.push_back(named.name(column({first, first + count}, row)));
    }
  }
  std::vector<Stmt> stores;
  for (int lane = 0; lane < type.lanes(); ++lane) {
    std::vector<Stmt> of_row;
    for (size_t i = 0; i < firsts.size(); ++i) {
      const Halide::Expr place = hi::simplify(rows.places[lane] + firsts[i]);
      const Halide::Expr& from = parts[i * count + lane % count];
      of_row.push_back(hi::Store::make(
          store->name, hi::Shuffle::make_slice(from, lane / count * count, 1, count),
          hi::Ramp::make(place, 1, count), store->param, hi::const_true(count), {}));
    }
    const Stmt row = hi::Block::make(of_row);
    const Halide::Expr& is_stored = rows.stored[lane];
    stores.push_back(hi::is_const_one(is_stored) ? row : hi::IfThenElse::make(is_stored, row));
  }
  return named.in_front_of(hi::Block::make(stores));
}

// Of interleaved vectors.
class StoreRows : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::Store* op) override {
    const auto* all = op->value.as<hi::Shuffle>();
    const auto* ramp = op->index.as<hi::Ramp>();
    if (all == nullptr || ramp == nullptr || !all->is_interleave()) return op;
    const auto columns = static_cast<int>(all->vectors.size());
    const Halide::Type type = all->vectors[0].type();
    if (columns < kLeastColumns || !may_be_transposed(type)) return op;
    if (!hi::is_const_one(ramp->stride)) return op;
    std::optional<std::vector<Halide::Expr>> stored = stored_rows(op->predicate, type.lanes());
    if (!stored) return op;
    Rows rows{{}, *std::move(stored)};
    for (int lane = 0; lane < type.lanes(); ++lane) {
      rows.places.push_back(ramp->base + lane * columns);
    }
    return store_parts(op, all->vectors, rows);
  }
  Stmt visit(const hi::Atomic* op) override { return op; }
};

// Whether a value reads what is stored in the same memory.
bool reads_what_it_is_stored_in(const hi::Store* store) {
  class Loads : public hi::IRVisitor {
   public:
    explicit Loads(const std::string& name) : name_(name) {}
    bool any = false;

   private:
    using hi::IRVisitor::visit;
    void visit(const hi::Load* op) override {
      any = any || op->name == name_;
      hi::IRVisitor::visit(op);
    }
    const std::string& name_;
  };
  Loads loads(store->name);
  store->value.accept(&loads);
  return loads.any;
}

// One vector after another of columns of rows that lie apart:
//   y[ramp(b, columns, lanes)] = v0; y[ramp(b + 1, columns, lanes)] = v1; ..
class StoreRowsApart : public hi::IRMutator {
  using hi::IRMutator::visit;

  struct Column {
    const hi::Store* store;
    AcrossRows at;
  };
  static std::optional<Column> column_of(const Stmt& statement) {
    const auto* store = statement.as<hi::Store>();
    if (store == nullptr || !may_be_transposed(store->value.type())) return std::nullopt;
    if (!store->index.as<hi::Ramp>() || reads_what_it_is_stored_in(store)) return std::nullopt;
    const std::optional<AcrossRows> at = across_rows(store->index, store->predicate);
    return at ? std::optional(Column{store, *at}) : std::nullopt;
  }
  static bool is_next(const Column& one, const Column& last) {
    return one.store->name == last.store->name && one.at.column == last.at.column + 1 &&
           one.store->value.type() == last.store->value.type() &&
           hi::equal(one.at.rows, last.at.rows) &&
           hi::equal(one.store->predicate, last.store->predicate);
  }

  static Stmt of_columns(const std::vector<Column>& columns) {
    const Column& first = columns.front();
    Rows rows;
    for (int lane = 0; lane < first.store->value.type().lanes(); ++lane) {
      rows.places.push_back(one_lane(first.at.rows, lane) + static_cast<int>(first.at.column));
      rows.stored.push_back(one_lane(first.store->predicate, lane));
    }
    std::vector<Halide::Expr> values;
    for (const Column& one : columns) values.push_back(one.store->value);
    return store_parts(first.store, values, rows);
  }

  Stmt visit(const hi::Block* op) override {
    std::vector<Stmt> made;
    std::vector<Column> run;
    const auto close = [&] {
      if (run.size() >= kLeastColumns) {
        made.push_back(of_columns(run));
      } else {
        for (const Column& one : run) made.emplace_back(one.store);
      }
      run.clear();
    };
    const auto add = [&](const Stmt& statement) {
      const std::optional<Column> one = column_of(statement);
      if (!run.empty() && (!one || !is_next(*one, run.back()))) close();
      if (one) return run.push_back(*one);
      made.push_back(mutate(statement));
    };
    for (const Stmt& statement : statements_of(op)) add(statement);
    close();
    return hi::Block::make(made);
  }
  Stmt visit(const hi::Atomic* op) override { return op; }
};

}  // namespace

Stmt transpose_rows(const Stmt& statement) {
  return StoreRowsApart().mutate(StoreRows().mutate(LoadRows().mutate(statement)));
}

}  // namespace emulsion

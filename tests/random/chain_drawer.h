#ifndef EMULSION_TESTS_RANDOM_CHAIN_DRAWER_H_
#define EMULSION_TESTS_RANDOM_CHAIN_DRAWER_H_

// A random chain in the making: what has been computed so far, and the steps that go on from there.
// Private to tests/random.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "dsl/tensor.h"
#include "tests/random/chain_values.h"
#include "tests/random/random_chains.h"
#include "tests/random/random_numbers.h"

namespace emulsion {

// An argument or a result, and what is known of its elements.
struct Known {
  Tensor tensor;
  double bound = 0, error = 0;

  const Shape& shape() const { return tensor.shape(); }
  int rank() const { return tensor.rank(); }
};

// A step does not fit what there is: another is drawn.
struct DoesNotFit : std::exception {};

class ChainDrawer {
 public:
  ChainDrawer(uint64_t seed, int index, const ChainOptions& options);
  RandomChain draw(uint64_t seed_of_arguments);

 private:
  using Axes = std::vector<Axis>;
  using Places = std::vector<Expr>;
  // Of the dimensions of a shape, those that stay and those that a statistic goes along.
  struct Split {
    std::vector<size_t> kept, along;
  };

  // random_chains.cc: what steps are made of.
  void draw_extents();
  Known draw_start();
  void draw_step();
  std::vector<SizeValues> draw_runs(const Graph& graph);
  Extent draw_extent();
  DType draw_type();
  int64_t steps(const Axes& axes) const;         // of a run with usual sizes
  double most_terms(const Axes& along) const;    // of any run
  Known fresh(DType dtype, const Shape& shape);  // an argument
  // One that is made of whole numbers that say where to read.
  Known fresh_places(const Shape& shape);
  Axes axes_of(const Shape& shape, const std::string& names);
  Value at(const Known& of, const Places& places) const;
  static Places places_of(const Axes& axes) { return {axes.begin(), axes.end()}; }
  // `along`: axes among those of the body that are reduced.
  Known computed(const Axes& axes, const Value& body, const Axes& along = {});
  void go_on(const Known& with);  // the next step starts there
  // What the next step starts from: as a rule the last value.
  const Known& current();
  bool chance(double probability) { return random_.chance(probability); }

  // chain_elements.cc: elementwise steps, moves and places from data.
  Value beside(const Axes& axes, DType dtype);
  Expr turned(const Axis& axis, const Extent& extent);
  Value element_operation(const Value& value, const Axes& axes);
  void elements();
  void two_of_one();
  void move();
  void joined();
  void gather();
  void by_class();
  Expr place_of_data(const Axes& axes, const Extent& extent);

  // chain_rows.cc: statistics of rows.
  Split draw_split(int rank);
  Known statistic(const Known& x, const Split& split, bool squares);
  void rows();
  void softmax(const Known& x, const Split& split);
  void norm(const Known& x, const Split& split);
  void draw_rows_step();
  void place_of_greatest();

  // chain_windows.cc
  void window();
  void stencils();
  void windows_of(const Known& x, const std::vector<size_t>& dimensions);
  void pixels();
  void pixels_of(const Known& x, size_t d);

  // chain_products.cc
  void product();
  void small_matrices();
  void follow_product();
  void layers();
  void attention();

  const ChainOptions options_;
  RandomNumbers random_;
  DType dtype_ = DType::f32;
  std::vector<Extent> extents_;
  std::vector<Known> inputs_, values_;
  size_t current_ = 0;  // of values_
  int names_ = 0;
  std::set<std::string> kinds_;
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_CHAIN_DRAWER_H_

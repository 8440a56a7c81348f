#ifndef EMULSION_PASSES_NEST_NAMED_LIST_H_
#define EMULSION_PASSES_NEST_NAMED_LIST_H_

#include <cstddef>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emulsion {

// A vector of things that have a `name`, in which a name is found in constant time: passes look up
// the stages and buffers of a nest by name at each of its nodes, and a nest may have thousands.
//
// A name may be changed where it stands. Finding it is then as slow as in a vector, and not wrong;
// so is looking for a name that is not there.
template <typename T>
class NamedList {
 public:
  NamedList() = default;
  NamedList(std::initializer_list<T> items) : items_(items) { note_places(); }

  void push_back(T item) {
    places_.emplace(item.name, items_.size());
    items_.push_back(std::move(item));
  }

  void pop_back() {
    items_.pop_back();
    note_places();
  }

  // In front of `position`. Linear, as in a vector.
  void insert(typename std::vector<T>::const_iterator position, T item) {
    items_.insert(position, std::move(item));
    note_places();
  }

  // The one of this name, or null. Of several, the first, as long as no name was changed.
  const T* find(const std::string& name) const {
    const auto place = places_.find(name);
    // A name that is noted where it no longer stands may stand elsewhere, also in front of it.
    if (place != places_.end() && items_[place->second].name == name) return &items_[place->second];
    for (const T& item : items_) {
      if (item.name == name) return &item;
    }
    return nullptr;
  }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const T* data() const { return items_.data(); }
  const T& operator[](size_t i) const { return items_[i]; }
  const T& at(size_t i) const { return items_.at(i); }
  const T& front() const { return items_.front(); }
  const T& back() const { return items_.back(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  T& operator[](size_t i) { return items_[i]; }
  T& at(size_t i) { return items_.at(i); }
  T& front() { return items_.front(); }
  T& back() { return items_.back(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }

 private:
  void note_places() {
    places_.clear();
    for (size_t i = 0; i < items_.size(); ++i) places_.emplace(items_[i].name, i);
  }

  std::vector<T> items_;
  std::unordered_map<std::string, size_t> places_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_NAMED_LIST_H_

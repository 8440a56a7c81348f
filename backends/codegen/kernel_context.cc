#include "backends/codegen/kernel_context.h"

#include <algorithm>
#include <vector>

#include "backends/codegen/npy.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// "//digits:weights/w1.npy" -> "digits/weights/w1.npy"; "@repo//a:b" -> "../repo/a/b", as Bazel has
// it.
std::string path_of_label(std::string name) {
  const size_t root = name.find("//");
  if (root != std::string::npos && (root == 0 || name[0] == '@')) {
    const std::string repository = root > 1 ? "../" + name.substr(1, root - 1) + "/" : "";
    name = name.substr(root + 2);
    if (!name.empty() && name[0] == ':') name.erase(0, 1);  // of the top package
    std::replace(name.begin(), name.end(), ':', '/');
    name = repository + name;
  } else if (!name.empty() && name[0] == ':') {
    name.erase(0, 1);
  }
  return name;
}

bool ends_in(const std::string& path, const std::string& end) {
  return path.size() > end.size() && path[path.size() - end.size() - 1] == '/' &&
         path.compare(path.size() - end.size(), end.size(), end) == 0;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  std::string result;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    result += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMost) result += ", ... (" + std::to_string(names.size()) + " in all)";
  return names.empty() ? "none" : result;
}

}  // namespace

std::string KernelContext::path(const std::string& name) const {
  const std::string wanted = path_of_label(name);
  std::vector<std::string> found;
  std::vector<std::string> all;
  for (const auto& [path, place] : files_) {
    all.push_back(path);
    if (path == wanted) return place;
    if (!wanted.empty() && ends_in(path, wanted)) found.push_back(path);
  }
  if (found.size() == 1) return files_.at(found[0]);
  if (found.empty()) {
    fail("data file \"{}\": expected a file of the attribute data: {}", name, listed(all));
  }
  fail("data file \"{}\": expected a path that is one file's, got {}", name, listed(found));
}

Tensor KernelContext::constant(const std::string& name, const std::string& file) const {
  const NpyArray array = read_npy(path(file));
  return emulsion::constant(name, array.dtype, Shape(array.shape.begin(), array.shape.end()),
                            {array.bytes.begin(), array.bytes.end()});
}

}  // namespace emulsion

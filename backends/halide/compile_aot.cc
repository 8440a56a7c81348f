#include "backends/halide/compile_aot.h"

#include <sstream>

#include "Halide.h"
#include "backends/entry/check_cpu_limits.h"
#include "backends/entry/check_library.h"
#include "backends/entry/descriptor_text.h"
#include "backends/entry/kernel_symbols.h"
#include "backends/entry/static_archive.h"
#include "backends/halide/entry_module.h"
#include "backends/halide/halide_call.h"
#include "backends/halide/lower_statement.h"
#include "dsl/error.h"
#include "dsl/output_files.h"
#include "dsl/text_hash.h"

namespace emulsion {
namespace {

std::string body_name(const std::string& function, size_t target) {
  return fmt::format("{}_emulsion_body_{}", function, target);
}

std::string object_code(const Halide::Module& module) {
  const Halide::Buffer<uint8_t> object = module.compile_to_buffer();
  return {reinterpret_cast<const char*>(object.data()), object.size_in_bytes()};
}

// What Halide makes one body of.
Halide::Module body_module(const LoopNest& nest, const std::string& function, const Target& target,
                           const CompileOptions& options) {
  check_cpu_limits(nest, code_limits(target));
  return kernel_module(nest, function,
                       kernel_target(target).with_feature(Halide::Target::NoRuntime),
                       Halide::LinkageType::External, options);
}

// Compiles the functions of one library, one after another.
class LibraryCompiler {
 public:
  LibraryCompiler(const std::string& name, const std::vector<Target>& targets,
                  const CompileOptions& options, OutputFiles* files)
      : name_(name), targets_(targets), options_(options), files_(*files) {}

  // `nests`: one for each target.
  void add(const std::vector<const LoopNest*>& nests, const std::string& function) {
    check_kernel_name(function);
    Entry entry{nests.front(), function, {}};
    for (size_t i = 0; i < targets_.size(); ++i) {
      const std::string body = body_name(function, i);
      objects_.push_back(
          {body + ".o", object_code(body_module(*nests[i], body, targets_[i], options_))});
      identity_ += text_hash(objects_.back().code + descriptor_text(*nests[i], function));
      entry.bodies.push_back({body, targets_[i], nests[i]});
    }
    entries_.push_back(std::move(entry));
  }

  void finish() {
    const std::string identity = text_hash(identity_), own = own_symbol(name_, identity);
    const Halide::Module module = entry_module(name_, entries_, identity);
    objects_.push_back({name_ + ".o", object_code(module)});
    std::ostringstream declared;
    using Writer = Halide::Internal::CodeGen_C;  // ends what it has opened when it goes
    Writer(declared, module.target(), Writer::CHeader, "EMULSION_KERNEL_" + own + "_H_")
        .compile(module);
    std::vector<std::string> functions;
    for (const Entry& entry : entries_) functions.push_back(entry.name);
    const std::string header = with_own_symbols(declared.str(), functions, identity);
    const std::string code = static_archive(objects_, own_symbol("", identity));
    files_.write_scratch(name_ + ".h", header.data(), header.size());
    files_.write_scratch(name_ + ".a", code.data(), code.size());
  }

 private:
  const std::string& name_;
  const std::vector<Target>& targets_;
  const CompileOptions& options_;
  OutputFiles& files_;
  std::vector<Entry> entries_;
  std::vector<ArchiveMember> objects_;
  std::string identity_;  // hashes of all bodies' code and of what their entries check, in order
};

}  // namespace

void compile_aot(const std::vector<LoopNest>& nests, const std::string& name,
                 const std::vector<Target>& targets, const std::string& directory,
                 const CompileOptions& options) {
  check_library(nests, name, targets);
  OutputFiles files(directory);
  (options.isolate ? call_halide_in_child : call_halide)("compiling " + name, [&] {
    LibraryCompiler library(name, targets, options, &files);
    const auto add = [&](const std::string& function, const auto& nest_of) {
      std::vector<const LoopNest*> functions;
      for (const LoopNest& nest : nests) functions.push_back(nest_of(nest));
      library.add(functions, function);
    };
    add(name, [](const LoopNest& nest) { return &nest; });
    for (size_t p = 0; p < nests.front().packs.size(); ++p) {
      add(name + "_pack_" + nests.front().packs[p].weight,
          [p](const LoopNest& nest) { return nest.packs[p].nest.get(); });
    }
    library.finish();
  });
  files.commit({name + ".a", name + ".h"});
}

void compile_aot(const LoopNest& nest, const std::string& name, const std::vector<Target>& targets,
                 const std::string& directory, const CompileOptions& options) {
  compile_aot(std::vector<LoopNest>(targets.size(), nest), name, targets, directory, options);
}

void write_code(const std::vector<LoopNest>& nests, const std::string& name,
                const std::vector<Target>& targets, const std::string& directory,
                const CompileOptions& options) {
  check_library(nests, name, targets);
  OutputFiles files(directory);
  std::vector<std::string> written;
  call_halide("compiling " + name, [&] {
    for (size_t i = 0; i < targets.size(); ++i) {
      const std::string stem = i == 0 ? name : fmt::format("{}.{}", name, i);
      written.insert(written.end(), {stem + ".stmt.txt", stem + ".s"});
      body_module(nests[i], body_name(name, i), targets[i], options)
          .compile({{Halide::OutputFileType::stmt, files.scratch_path(stem + ".stmt.txt")},
                    {Halide::OutputFileType::assembly, files.scratch_path(stem + ".s")}});
    }
  });
  files.commit(written);
}

}  // namespace emulsion

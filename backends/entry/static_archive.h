#ifndef EMULSION_BACKENDS_ENTRY_STATIC_ARCHIVE_H_
#define EMULSION_BACKENDS_ENTRY_STATIC_ARCHIVE_H_

// A static library from object code, as bytes: what `ar` writes in its GNU form, with an index of
// the symbols. Made in memory, since LLVM's own writer ends the process when the disk is full. No
// times, owners or modes: equal objects make equal archives.

#include <string>
#include <vector>

namespace emulsion {

struct ArchiveMember {
  std::string name;  // "linear.o"
  std::string code;  // an ELF object of 64 bits, little-endian
};

// Functions that the members define become protected (STV_PROTECTED): the program or shared library
// that one is linked into calls it, and none of that name from elsewhere in the process. The bodies
// that a kernel's entry calls become hidden. What has `open` in its name stays as it is: a
// protected function of a library can be called from elsewhere, and not pointed at. Error: what is
// no such object, or a file of 4 GiB or more, which the index does not reach.
std::string static_archive(std::vector<ArchiveMember> members, const std::string& open = "");

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_STATIC_ARCHIVE_H_

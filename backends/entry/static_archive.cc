#include "backends/entry/static_archive.h"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dsl/error.h"

namespace emulsion {
namespace {

constexpr char kMagic[] = "!<arch>\n";
constexpr size_t kLongestName = 15;  // beside the "/" that ends it

// A value of the object code, wherever it lies there.
template <typename T>
T value_at(const ArchiveMember& member, uint64_t offset) {
  T value;
  if (offset > member.code.size() || member.code.size() - offset < sizeof(T)) {
    fail("object {}: expected {} bytes at {}, got {} in all", member.name, sizeof(T), offset,
         member.code.size());
  }
  std::memcpy(&value, member.code.data() + offset, sizeof(T));
  return value;
}

std::string text_at(const ArchiveMember& member, uint64_t offset) {
  const size_t end =
      offset < member.code.size() ? member.code.find('\0', offset) : std::string::npos;
  if (end == std::string::npos) {
    fail("object {}: expected the name of a symbol at {}, got {} bytes in all", member.name, offset,
         member.code.size());
  }
  return member.code.substr(offset, end - offset);
}

// A symbol that other objects may refer to, and where it lies in the object.
struct Defined {
  std::string name;
  uint64_t offset;
  Elf64_Sym entry;
};

// In the order of the object's own table.
std::vector<Defined> symbols_of(const ArchiveMember& member) {
  const auto header = value_at<Elf64_Ehdr>(member, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB) {
    fail("object {}: expected an ELF object of 64 bits, little-endian, got something else",
         member.name);
  }
  const auto section = [&](uint64_t index) {
    return value_at<Elf64_Shdr>(member, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  std::vector<Defined> symbols;
  // An object of very many sections has their number in the first of them.
  const uint64_t sections = header.e_shnum > 0 ? header.e_shnum : section(0).sh_size;
  for (uint64_t i = 0; i < sections; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr strings = section(table.sh_link);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = value_at<Elf64_Sym>(member, table.sh_offset + at);
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_UNDEF) continue;
      symbols.push_back(
          {text_at(member, strings.sh_offset + symbol.st_name), table.sh_offset + at, symbol});
    }
  }
  return symbols;
}

void protect(const Defined& symbol, ArchiveMember* member) {
  if (ELF64_ST_TYPE(symbol.entry.st_info) != STT_FUNC ||
      ELF64_ST_BIND(symbol.entry.st_info) != STB_GLOBAL) {
    return;
  }
  // A body is called from its entry only. Were it seen outside of a shared library, a program that
  // links that library first would take it for the body of its own kernel of that name.
  const bool is_body = symbol.name.find("_emulsion_body_") != std::string::npos;
  member->code[symbol.offset + offsetof(Elf64_Sym, st_other)] =
      is_body ? STV_HIDDEN : STV_PROTECTED;
}

// The 60 bytes in front of a member.
std::string header(const std::string& name, size_t size) {
  return fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0,
                     name == "/" ? "0" : "644", size);
}

std::string padded(std::string bytes, char with) {
  if (bytes.size() % 2 != 0) bytes += with;
  return bytes;
}

void append_big_endian(uint64_t value, std::string* bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) *bytes += static_cast<char>(value >> shift & 0xff);
}

}  // namespace

std::string static_archive(std::vector<ArchiveMember> members, const std::string& open) {
  std::string long_names, contents;
  std::vector<size_t> starts;  // of members, in `contents`
  std::string names;           // of symbols
  std::vector<size_t> owners;  // of symbols: members
  for (ArchiveMember& member : members) {
    const std::vector<Defined> defined = symbols_of(member);
    for (const Defined& symbol : defined) {
      const bool is_open = !open.empty() && symbol.name.find(open) != std::string::npos;
      if (!is_open) protect(symbol, &member);
    }
    std::string name = member.name + "/";
    if (member.name.size() > kLongestName) {
      name = fmt::format("/{}", long_names.size());
      long_names += member.name + "/\n";
    }
    starts.push_back(contents.size());
    contents += header(name, member.code.size()) + padded(member.code, '\n');
    for (const Defined& symbol : defined) {
      names += symbol.name + '\0';
      owners.push_back(starts.size() - 1);
    }
  }
  if (!long_names.empty()) {
    const std::string table = padded(long_names, '\n');
    long_names = fmt::format("{:<48}{:<10}`\n", "//", table.size()) + table;
  }
  const size_t index = padded(std::string(4 + 4 * owners.size(), '\0') + names, '\0').size();
  const size_t first = sizeof(kMagic) - 1 + header("/", index).size() + index + long_names.size();
  if (first + contents.size() > std::numeric_limits<uint32_t>::max()) {
    fail("library of {} objects: expected less than 4 GiB, got {} bytes", members.size(),
         first + contents.size());
  }
  std::string symbols;
  append_big_endian(owners.size(), &symbols);
  for (size_t owner : owners) append_big_endian(first + starts[owner], &symbols);
  symbols = padded(symbols + names, '\0');
  return kMagic + header("/", symbols.size()) + symbols + long_names + contents;
}

}  // namespace emulsion

#include "backends/entry/static_archive.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

struct Symbol {
  std::string name;
  unsigned char bind;
  uint16_t section;
  unsigned char type = STT_FUNC;
  unsigned char visibility = STV_DEFAULT;
};

// Functions of an archive are protected.
const Symbol kDefined{"kernel", STB_GLOBAL, 1, STT_FUNC, STV_PROTECTED};
const Symbol kWeak{"helper", STB_WEAK, 1};
const Symbol kLocal{"inside", STB_LOCAL, 1}, kWanted{"malloc", STB_GLOBAL, SHN_UNDEF};

template <typename T>
void append(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// An object that has nothing but symbols.
std::string object_of(const std::vector<Symbol>& symbols) {
  std::string names(1, '\0'), table(sizeof(Elf64_Sym), '\0');
  for (const Symbol& symbol : symbols) {
    Elf64_Sym entry = {};
    entry.st_name = static_cast<Elf64_Word>(names.size());
    entry.st_info = ELF64_ST_INFO(symbol.bind, symbol.type);
    entry.st_other = symbol.visibility;
    entry.st_shndx = symbol.section;
    append(entry, &table);
    names += symbol.name + '\0';
  }
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shnum = 3;
  header.e_shoff = sizeof(header) + table.size() + names.size();
  Elf64_Shdr none = {}, symtab = {}, strtab = {};
  symtab.sh_type = SHT_SYMTAB;
  symtab.sh_offset = sizeof(header);
  symtab.sh_size = table.size();
  symtab.sh_link = 2;
  strtab.sh_type = SHT_STRTAB;
  strtab.sh_offset = sizeof(header) + table.size();
  strtab.sh_size = names.size();
  std::string object;
  append(header, &object);
  object += table + names;
  for (const Elf64_Shdr& section : {none, symtab, strtab}) append(section, &object);
  return object;
}

// The bytes of the member at `offset`: its name and what is in it.
std::pair<std::string, std::string> member_at(const std::string& archive, size_t offset) {
  const std::string name = archive.substr(offset, archive.find(' ', offset) - offset);
  return {name, archive.substr(offset + 60, std::stoul(archive.substr(offset + 48, 10)))};
}

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

TEST(StaticArchive, TheIndexLeadsToTheObjectOfEachSymbol) {
  const std::string first = object_of({kLocal, kDefined, kWanted}), second = object_of({kWeak});
  const std::string archive = static_archive({{"a.o", first}, {"b.o", second}});
  EXPECT_EQ(archive.substr(0, 8), "!<arch>\n");
  const auto [name, index] = member_at(archive, 8);
  EXPECT_EQ(name, "/");
  ASSERT_EQ(big_endian(index, 0), 2U);
  EXPECT_EQ(index.substr(12, 14), std::string("kernel\0helper\0", 14));
  EXPECT_EQ(member_at(archive, big_endian(index, 4)), std::pair(std::string("a.o/"), first));
  EXPECT_EQ(member_at(archive, big_endian(index, 8)), std::pair(std::string("b.o/"), second));
}

// What else there is stays as it is.
TEST(StaticArchive, FunctionsAreCalledFromWhereTheyAreLinked) {
  Symbol open = kDefined, own = kDefined, data{"table", STB_GLOBAL, 1, STT_OBJECT};
  open.visibility = own.visibility = STV_DEFAULT;
  own.name = "kernel_is_1234_argv";
  const auto archived = [](const std::vector<Symbol>& symbols, const std::string& stays) {
    const std::string archive = static_archive({{"a.o", object_of(symbols)}}, stays);
    return member_at(archive, big_endian(member_at(archive, 8).second, 4)).second;
  };
  EXPECT_EQ(archived({open, kLocal, kWeak, kWanted, data}, ""),
            object_of({kDefined, kLocal, kWeak, kWanted, data}));
  // A program never takes the body of a kernel from a shared library that it links first.
  Symbol body = open, hidden = open;
  body.name = hidden.name = "kernel_emulsion_body_0";
  hidden.visibility = STV_HIDDEN;
  EXPECT_EQ(archived({body}, ""), object_of({hidden}));
  EXPECT_EQ(archived({open, own}, "_is_1234"), object_of({kDefined, own}));
}

TEST(StaticArchive, LongNamesHaveATableOfTheirOwn) {
  const std::string object = object_of({kDefined});
  const std::string archive =
      static_archive({{"fifteen_chars.o", object}, {"sixteen_chars_.o", object}});
  EXPECT_NE(archive.find("fifteen_chars.o/"), std::string::npos);
  const size_t table = archive.find("//  ");
  ASSERT_NE(table, std::string::npos);
  EXPECT_EQ(member_at(archive, table).second, "sixteen_chars_.o/\n");
  EXPECT_NE(archive.find("/0   "), std::string::npos);
}

TEST(StaticArchive, MembersStartAtEvenOffsets) {
  const std::string odd = object_of({kDefined}) + (object_of({kDefined}).size() % 2 ? "" : "x");
  const std::string archive = static_archive({{"a.o", odd}, {"b.o", odd}});
  const std::string index = member_at(archive, 8).second;
  const size_t second = big_endian(index, 8);
  EXPECT_EQ(second % 2, 0U);
  EXPECT_EQ(archive[second - 1], '\n');
  EXPECT_EQ(member_at(archive, second).second, odd);
}

TEST(StaticArchive, OfNoObjects) {
  EXPECT_EQ(member_at(static_archive({}), 8).second, std::string(4, '\0'));
}

TEST(StaticArchive, RefusesWhatIsNoObject) {
  EXPECT_TRUE(throws_with<Error>([] { static_archive({{"a.o", "int main() {}"}}); }, "object a.o"));
  EXPECT_TRUE(throws_with<Error>(
      [] {
        static_archive({{"a.o", std::string(64, 'x')}});
      },
      "expected an ELF object of 64 bits"));
}

TEST(StaticArchive, RefusesObjectsOfAnotherKind) {
  std::string narrow = object_of({kDefined}), big = narrow;
  narrow[EI_CLASS] = ELFCLASS32;
  big[EI_DATA] = ELFDATA2MSB;
  for (const std::string& object : {narrow, big}) {
    EXPECT_TRUE(throws_with<Error>([&] { static_archive({{"a.o", object}}); }, "little-endian"));
  }
}

TEST(StaticArchive, RefusesAnObjectThatIsCutOff) {
  const std::string object = object_of({kDefined, kWeak});
  for (size_t size = 0; size < object.size(); ++size) {
    EXPECT_TRUE(throws_with<Error>(
        [&] {
          static_archive({{"a.o", object.substr(0, size)}});
        },
        "object a.o: expected"))
        << size;
  }
}

TEST(StaticArchive, RefusesTablesThatLeadOutOfTheObject) {
  const std::string object = object_of({kDefined});
  const size_t sections = object.size() - 3 * sizeof(Elf64_Shdr);
  const size_t symtab = sections + sizeof(Elf64_Shdr), strtab = symtab + sizeof(Elf64_Shdr);
  const std::vector<std::pair<const char*, size_t>> fields = {
      {"e_shoff", offsetof(Elf64_Ehdr, e_shoff)},
      {"sh_offset of symbols", symtab + offsetof(Elf64_Shdr, sh_offset)},
      {"sh_link", symtab + offsetof(Elf64_Shdr, sh_link)},
      {"sh_offset of names", strtab + offsetof(Elf64_Shdr, sh_offset)},
  };
  for (const auto& [name, at] : fields) {
    for (const char byte : {'\x7f', '\xff'}) {
      std::string wrong = object;
      wrong[at + 3] = byte;
      EXPECT_TRUE(throws_with<Error>(
          [&] {
            static_archive({{"a.o", wrong}});
          },
          "object a.o"))
          << name;
    }
  }
}

}  // namespace
}  // namespace emulsion

#include "passes/nest/named_list.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace emulsion {
namespace {

struct Item {
  std::string name;
  int value = 0;
};

NamedList<Item> three() {
  NamedList<Item> list = {{"a", 1}, {"b", 2}};
  list.push_back({"c", 3});
  return list;
}

TEST(NamedList, FindsWhatItWasMadeOfAndWhatCameLater) {
  const NamedList<Item> list = three();
  ASSERT_EQ(list.size(), 3U);
  for (const Item& item : list) EXPECT_EQ(list.find(item.name), &item) << item.name;
}

TEST(NamedList, FindsNoOtherName) {
  EXPECT_EQ(three().find("d"), nullptr);
  EXPECT_EQ(three().find(""), nullptr);
  EXPECT_EQ(NamedList<Item>().find("a"), nullptr);
}

TEST(NamedList, FindsTheFirstOfAName) {
  NamedList<Item> list = three();
  list.push_back({"a", 4});
  EXPECT_EQ(list.find("a")->value, 1);
}

TEST(NamedList, FindsANameThatWasChanged) {
  NamedList<Item> list = three();
  list[1].name = "z";
  EXPECT_EQ(list.find("z"), &list[1]);
  EXPECT_EQ(list.find("b"), nullptr);
  list[2].name = "b";
  EXPECT_EQ(list.find("b"), &list[2]);
}

TEST(NamedList, FindsBehindWhatIsInsertedAndNotWhatIsGone) {
  NamedList<Item> list = {{"b", 2}, {"c", 3}};
  list.insert(list.begin(), {"a", 1});
  for (const Item& item : list) EXPECT_EQ(list.find(item.name), &item) << item.name;
  list.pop_back();
  EXPECT_EQ(list.find("c"), nullptr);
  EXPECT_EQ(list.find("b"), &list[1]);
}

TEST(NamedList, ACopyFindsItsOwn) {
  const NamedList<Item> list = three();
  NamedList<Item> copy = list;
  copy[0].value = 7;
  EXPECT_EQ(copy.find("a"), &copy[0]);
  EXPECT_EQ(list.find("a")->value, 1);
}

TEST(NamedList, IsReadAsAVector) {
  NamedList<Item> list = three();
  EXPECT_FALSE(list.empty());
  EXPECT_EQ(list.front().name, "a");
  EXPECT_EQ(list.back().name, "c");
  EXPECT_EQ(list.at(1).name, "b");
  EXPECT_EQ(list.data() + 1, &list[1]);
  EXPECT_THROW(list.at(3), std::out_of_range);
}

}  // namespace
}  // namespace emulsion

#include "frazil/index/file_dictionary.h"

#include "frazil/base/test_support.h"

namespace frazil::index {
namespace {

FileNumber Add(FileDictionary& dictionary, const std::string& path) {
  auto number = dictionary.Add({.path = path}, {});
  EXPECT_THAT(number, IsOk());
  return *number;
}

std::shared_ptr<const Forwarding> To(std::vector<std::optional<FileNumber>> outputs) {
  return std::make_shared<const Forwarding>(Forwarding{.row_map = nullptr, .outputs = std::move(outputs)});
}

TEST(FileDictionary, GivesNumbersOnceOnly) {
  FileDictionary dictionary;
  EXPECT_EQ(Add(dictionary, "a"), 0u);
  EXPECT_EQ(Add(dictionary, "b"), 1u);
  dictionary.SetGone(1, nullptr);
  EXPECT_EQ(dictionary.Find(1), nullptr);
  EXPECT_EQ(Add(dictionary, "b"), 2u);
  EXPECT_EQ(dictionary.size(), 2);
}

TEST(FileDictionary, CopiesDoNotSeeLaterChanges) {
  FileDictionary first;
  for (int i = 0; i < 200; ++i) Add(first, std::to_string(i));
  FileDictionary second = first;
  second.SetGone(70, nullptr);
  second.SetDeletes(71, {.path = "vector", .content_offset = {}, .content_size_in_bytes = {}});
  Add(second, "200");
  const FileDictionary third = second;
  second.SetGone(71, nullptr);
  EXPECT_EQ(first.Find(70)->file->path, "70");
  EXPECT_TRUE(first.Find(71)->deletes_id.path.empty());
  EXPECT_EQ(first.Find(200), nullptr);
  EXPECT_EQ(third.Find(70), nullptr);
  EXPECT_EQ(third.Find(71)->deletes_id.path, "vector");
  EXPECT_EQ(second.Find(71), nullptr);
  EXPECT_EQ(second.Find(0)->file, first.Find(0)->file) << "what does not change is shared";
}

TEST(FileDictionary, KeepsRowMapsAsLongAsEntriesLeadThroughThem) {
  FileDictionary dictionary;
  for (const char* path : {"a", "b", "c", "d", "e"}) Add(dictionary, path);
  dictionary.SetGone(0, To({1, std::nullopt}));
  dictionary.SetGone(1, To({2}));
  dictionary.SetGone(3, To({4}));
  dictionary.ForgetUnneeded({0, 2});
  EXPECT_NE(dictionary.Find(0), nullptr);
  EXPECT_NE(dictionary.Find(1), nullptr) << "named by none, but 0 leads there";
  EXPECT_NE(dictionary.Find(2), nullptr);
  EXPECT_EQ(dictionary.Find(3), nullptr);
  EXPECT_NE(dictionary.Find(4), nullptr) << "live";
  dictionary.ForgetUnneeded({2});
  EXPECT_EQ(dictionary.Find(0), nullptr);
  EXPECT_EQ(dictionary.Find(1), nullptr);
}

}  // namespace
}  // namespace frazil::index

#include "frazil/maintain/file_place.h"

#include "frazil/base/test_support.h"

namespace frazil::maintain {
namespace {

TEST(FilePlace, OneFileHasOnePlace) {
  const FilePlace place = PlaceOf("s3://bucket/a/b c");
  EXPECT_EQ(place, (FilePlace{"s3", "bucket", "/a/b c"}));
  EXPECT_EQ(PlaceOf("s3://bucket//a///b%20c/"), place);
  EXPECT_EQ(PlaceOf("S3://bucket/a/b%2520c"), place);
  for (const char* local : {"/a/b", "file:/a/b", "file:///a/b", "file://localhost/a/b"}) {
    EXPECT_EQ(PlaceOf(local).path, "/a/b") << local;
    EXPECT_EQ(PlaceOf(local).authority, "") << local;
  }
  EXPECT_EQ(PlaceOf("hdfs:/a"), (FilePlace{"hdfs", "", "/a"}));
  EXPECT_EQ(PlaceOf("/a/t=10:30/x").path, "/a/t=10:30/x") << "a colon in a name makes no scheme";
}

TEST(FilePlace, ATruncatedCodeIsNoCode) {
  EXPECT_EQ(PlaceOf("/a%2").path, "/a%2");
  EXPECT_EQ(PlaceOf("/a%zz").path, "/a%zz");
  EXPECT_EQ(PlaceOf("/a%20").path, "/a ");
}

TEST(FilePlace, InsideMeansWholeNames) {
  EXPECT_TRUE(IsInside(PlaceOf("/a/b/c"), PlaceOf("/a/b")));
  EXPECT_TRUE(IsInside(PlaceOf("/a/b/"), PlaceOf("/a/b")));
  EXPECT_FALSE(IsInside(PlaceOf("/a/bc"), PlaceOf("/a/b")));
  EXPECT_FALSE(IsInside(PlaceOf("/a"), PlaceOf("/a/b")));
}

}  // namespace
}  // namespace frazil::maintain

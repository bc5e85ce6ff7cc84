#include "frazil/maintain/file_place.h"

#include "frazil/base/test_support.h"
#include "frazil/maintain/reachable_files.h"

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

TEST(FileSet, KnowsAPathUnderEqualNamesAndSaysWhenOnlyTheRootDiffers) {
  FileSet files(EqualNames({{"oss", "s3"}}, {{"s3n,s3a", "s3"}}), EqualNames({{"b1,b2", "bucket"}}, {}));
  files.Add("s3a://bucket/x");
  using Match = FileSet::Match;
  for (const char* same : {"s3://bucket/x", "s3n://b1/x", "oss://b2//x", "/x", "s3:/x"}) {
    EXPECT_EQ(files.Find(PlaceOf(same)), Match::kSame) << same;
  }
  EXPECT_EQ(files.Find(PlaceOf("gs://bucket/x")), Match::kOtherRoot);
  EXPECT_EQ(files.Find(PlaceOf("s3://other/x")), Match::kOtherRoot);
  EXPECT_EQ(files.Find(PlaceOf("s3://bucket/y")), Match::kNone);
  files.Add("gs://other/x");
  EXPECT_EQ(files.Find(PlaceOf("abfs://third/x")), Match::kSame) << "known under several: better kept";
}

}  // namespace
}  // namespace frazil::maintain

#include "frazil/ingest/http_client.h"

#include "frazil/base/test_support.h"

namespace frazil::ingest {
namespace {

TEST(HttpClient, ShowsUrlsWithoutCredentials) {
  EXPECT_EQ(UrlToShow("https://alice:secret@registry:8081/apis?token=x#y"), "https://registry:8081/apis");
  EXPECT_EQ(UrlToShow("https://alice:p@ss@registry/a@b"), "https://registry/a@b");
  EXPECT_EQ(UrlToShow("http://registry"), "http://registry");
  EXPECT_EQ(UrlToShow("alice:secret@registry:8081"), "registry:8081");
}

TEST(HttpClient, EscapesPathSegments) { EXPECT_EQ(UrlEscape("a b/ü-value"), "a%20b%2F%C3%BC-value"); }

TEST(HttpClient, AServerThatIsNotThereIsUnavailableAndNoCredentialIsSaid) {
  HttpOptions options;
  options.user_info = "alice:secret";
  HttpClient client(options);
  const auto answer = client.Send({.url = "http://bob:hidden@127.0.0.1:1/subjects"});
  ASSERT_THAT(answer, IsError(ErrorCode::kUnavailable, "no answer from http://127.0.0.1:1/subjects"));
  EXPECT_EQ(answer.error().ToString().find("secret"), std::string::npos);
  EXPECT_EQ(answer.error().ToString().find("hidden"), std::string::npos);
}

TEST(HttpClient, OnlyHttpIsSpoken) {
  HttpClient client({});
  EXPECT_THAT(client.Send({.url = "file:///etc/passwd"}), IsError(ErrorCode::kInvalidArgument, ""));
}

}  // namespace
}  // namespace frazil::ingest

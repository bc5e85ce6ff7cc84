#include "frazil/service/http_access.h"

#include <filesystem>

#include "frazil/base/test_support.h"
#include "frazil/service/http_settings.h"

namespace frazil::service {
namespace {

TEST(HttpAccess, ReadsFromThisMachineNeedNoToken) {
  for (const char* host : {"127.0.0.1:8780", "localhost:8780", "localhost", "[::1]:8780"}) {
    EXPECT_TRUE(IsAllowed({true, "127.0.0.1", host, ""}, "secret")) << host;
  }
  EXPECT_TRUE(IsAllowed({true, "::ffff:127.0.0.1", "localhost", ""}, ""));
}

TEST(HttpAccess, EverythingElseNeedsTheToken) {
  EXPECT_FALSE(IsAllowed({false, "127.0.0.1", "localhost", ""}, "secret"));
  EXPECT_FALSE(IsAllowed({false, "127.0.0.1", "localhost", "Bearer other"}, "secret"));
  EXPECT_FALSE(IsAllowed({false, "127.0.0.1", "localhost", "Bearer "}, ""));  // no token: nobody has it
  EXPECT_FALSE(IsAllowed({true, "10.0.0.7", "localhost", ""}, "secret"));
  EXPECT_FALSE(IsAllowed({true, "127.0.0.1.evil", "localhost", ""}, "secret"));
  EXPECT_TRUE(IsAllowed({false, "127.0.0.1", "localhost", "Bearer secret"}, "secret"));
  EXPECT_TRUE(IsAllowed({true, "10.0.0.7", "frazil.example", "Bearer secret"}, "secret"));
}

TEST(HttpAccess, AForeignPageInABrowserHereIsForeign) {
  EXPECT_FALSE(IsAllowed({true, "127.0.0.1", "evil.example:8780", ""}, "secret"));
  EXPECT_FALSE(IsAllowed({true, "127.0.0.1", "127.0.0.1.evil.example", ""}, "secret"));
  EXPECT_FALSE(IsAllowed({true, "127.0.0.1", "", ""}, "secret"));
}

TEST(HttpSettings, ListenSaysWhere) {
  const auto read = [](const std::string& listen) {
    return ReadHttpSettings({{"http.listen", {listen, "f:1", false}}});
  };
  ASSERT_OK_AND_ASSIGN(const HttpSettings usual, ReadHttpSettings({}));
  EXPECT_EQ(usual.host, "127.0.0.1");
  EXPECT_EQ(usual.port, 8780);
  ASSERT_OK_AND_ASSIGN(const HttpSettings other, read("[::1]:0"));
  EXPECT_EQ(other.host, "::1");
  EXPECT_EQ(other.port, 0);
  ASSERT_OK_AND_ASSIGN(const HttpSettings off, read(""));
  EXPECT_FALSE(off.is_enabled);
  for (const char* wrong : {"8780", "host", ":80", "host:", "host:x", "host:70000"}) {
    EXPECT_THAT(read(wrong), IsError(ErrorCode::kInvalidArgument, "http.listen")) << wrong;
  }
}

TEST(HttpSettings, TheTokenOfAHomeIsMadeOnceAndPrivate) {
  const TempDir dir;
  const std::string file = dir.Join("state/http.token");
  ASSERT_OK_AND_ASSIGN(const std::string token, TokenOfHome(file));
  EXPECT_GE(token.size(), 32U);
  EXPECT_THAT(TokenOfHome(file), IsOkAnd(token));
  EXPECT_EQ(std::filesystem::status(file).permissions() & std::filesystem::perms::mask,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_THAT(TokenOfHome("/proc/nowhere/token"), IsError(ErrorCode::kIo, "token file"));
}

}  // namespace
}  // namespace frazil::service

#include "frazil/cli/config.h"

#include <cstdlib>
#include <fstream>

#include "frazil/base/test_support.h"

namespace frazil::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Pair;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    Set("FRAZIL_HOME", dir_.Join("home"));
    Set("XDG_CONFIG_HOME", dir_.Join("xdg"));
    std::filesystem::create_directories(dir_.path() / "home");
    std::filesystem::create_directories(dir_.path() / "xdg" / "frazil");
  }
  ~ConfigTest() override {
    for (const auto& [name, value] : before_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  void Set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before_.try_emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    setenv(name.c_str(), value.c_str(), 1);
  }
  void Unset(const std::string& name) {
    Set(name, "");
    unsetenv(name.c_str());
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_.Join(name)) << text;
    return dir_.Join(name);
  }

  TempDir dir_;
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(ConfigTest, HasOneCatalogByDefault) {
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Load({}));
  EXPECT_EQ(config.home(), dir_.Join("home"));
  EXPECT_THAT(config.CatalogNames(), ElementsAre("local"));
  EXPECT_TRUE(config.CatalogProperties("local").empty());
  EXPECT_EQ(config.Get("limits.memory"), "");
}

TEST_F(ConfigTest, FindsItsHome) {
  Unset("FRAZIL_HOME");
  Set("XDG_DATA_HOME", dir_.Join("data"));
  ASSERT_OK_AND_ASSIGN(const Config by_xdg, Config::Load({}));
  EXPECT_EQ(by_xdg.home(), dir_.Join("data/frazil"));
  Unset("XDG_DATA_HOME");
  Set("HOME", dir_.Join("me"));
  ASSERT_OK_AND_ASSIGN(const Config by_home, Config::Load({}));
  EXPECT_EQ(by_home.home(), dir_.Join("me/.local/share/frazil"));
}

TEST_F(ConfigTest, LetsTheNearerSourceWin) {
  const auto memory = [](const Config& config) { return config.Get("limits.memory"); };
  Config::Sources sources;
  Write("xdg/frazil/frazil.yaml", "limits: {memory: from-xdg, threads: 2}\n");
  ASSERT_OK_AND_ASSIGN(const Config user, Config::Load(sources));
  EXPECT_EQ(memory(user), "from-xdg");

  Write("home/frazil.yaml", "limits:\n  memory: from-home\n");
  ASSERT_OK_AND_ASSIGN(const Config home, Config::Load(sources));
  EXPECT_EQ(memory(home), "from-home");
  EXPECT_EQ(home.Get("limits.threads"), "");  // one user's file, not both
  EXPECT_THAT(home.values().at("limits.memory").origin, EndsWith("home/frazil.yaml:2"));

  sources.file = Write("given.yaml", "limits: {memory: from-file}\n");
  ASSERT_OK_AND_ASSIGN(const Config file, Config::Load(sources));
  EXPECT_EQ(memory(file), "from-file");

  Set("FRAZIL_LIMITS__MEMORY", "from-env");
  ASSERT_OK_AND_ASSIGN(const Config env, Config::Load(sources));
  EXPECT_EQ(memory(env), "from-env");
  EXPECT_EQ(env.values().at("limits.memory").origin, "FRAZIL_LIMITS__MEMORY");

  sources.overrides = {"limits.memory=first", "limits.memory=from-X=1"};
  ASSERT_OK_AND_ASSIGN(const Config over, Config::Load(sources));
  EXPECT_EQ(memory(over), "from-X=1");
}

TEST_F(ConfigTest, RefusesUnknownKeysAndNamesTheNearest) {
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"limits.memori=1"}}),
              IsError(ErrorCode::kInvalidArgument, "did you mean limits.memory?"));
  Write("home/frazil.yaml", "limits:\n  memory: 1GB\n  thread: 4\n");
  EXPECT_THAT(Config::Load({}), IsError(ErrorCode::kInvalidArgument, "frazil.yaml:3"));
  EXPECT_THAT(Config::Load({}), IsError(ErrorCode::kInvalidArgument, "did you mean limits.threads?"));
}

TEST_F(ConfigTest, RefusesMisspeltVariablesButNotThoseOfOtherTools) {
  Set("FRAZIL_JOBS", "4");
  ASSERT_THAT(Config::Load({}), IsOk());
  Set("FRAZIL_LIMITS__MEMORI", "1");
  EXPECT_THAT(Config::Load({}), IsError(ErrorCode::kInvalidArgument, "FRAZIL_LIMITS__MEMORI"));
}

TEST_F(ConfigTest, NamesOfFlinkWithoutAMeaningAreRefusedWithTheWayOut) {
  for (const auto& [name, hint] : std::map<std::string, std::string>{{"scan.parallelism=4", "one worker"},
                                                                     {"scan.watermark.idle-timeout=1s", "watermarks"},
                                                                     {"topic-pattern=a.*", "name it with topic"}}) {
    EXPECT_THAT(Config::Load({.file = {}, .overrides = {"pipelines.a.source." + name}}),
                IsError(ErrorCode::kNotSupported, hint));
  }
}

TEST_F(ConfigTest, SaysWhatIsDesignedButNotThere) {
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"maintenance.defaults.expire.retain-last=1"}}),
              IsError(ErrorCode::kNotSupported, "maintenance"));
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"pipelines.a.commit.freshness-slo=2min"}}),
              IsError(ErrorCode::kNotSupported, "freshness-slo"));
}

TEST_F(ConfigTest, KnowsSeveralCatalogs) {
  const std::string file =
      Write("given.yaml",
            "default-catalog: b\ncatalogs:\n  a: {type: sql, uri: \"sqlite:////x/a.db\"}\n  b:\n    type: sql\n");
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Load({.file = file, .overrides = {}}));
  EXPECT_THAT(config.CatalogNames(), ElementsAre("a", "b"));
  EXPECT_THAT(config.CatalogProperties("a"), ElementsAre(Pair("type", "sql"), Pair("uri", "sqlite:////x/a.db")));
  EXPECT_EQ(config.Get("default-catalog"), "b");
  EXPECT_THAT(Config::Load({.file = Write("bad.yaml", "catalogs: {a: sql}\n"), .overrides = {}}),
              IsError(ErrorCode::kInvalidArgument, "catalogs.a"));
}

TEST_F(ConfigTest, PutsVariablesOfTheEnvironmentIn) {
  Set("WHERE", "/data");
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Config::Load(
          {.file = {}, .overrides = {"limits.temp-dir=${WHERE}/tmp-${WHERE}", "catalogs.a.uri=${FRAZIL_HOME}/x"}}));
  EXPECT_EQ(config.Get("limits.temp-dir"), "/data/tmp-/data");
  EXPECT_EQ(config.CatalogProperties("a").at("uri"), dir_.Join("home/x"));
  Unset("NOT_THERE");
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"limits.temp-dir=${NOT_THERE}"}}),
              IsError(ErrorCode::kInvalidArgument, "NOT_THERE"));
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"limits.temp-dir=${WHERE"}}),
              IsError(ErrorCode::kInvalidArgument, "without"));
}

TEST_F(ConfigTest, TakesPipelinesAndNamesTheNearestOfTheirSettings) {
  const std::string file =
      Write("given.yaml",
            "pipelines:\n"
            "  user-kv:\n"
            "    source: {topic: t, properties.bootstrap.servers: b, properties.sasl.jaas.config: x}\n"
            "    sink:\n"
            "      identifier-fields: [a, b]\n"
            "      columns: {app_id: insight_id}\n");
  Set("FRAZIL_PIPELINES__USER_KV__COMMIT__INTERVAL", "60s");
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Load({.file = file, .overrides = {}}));
  EXPECT_EQ(config.Get("pipelines.user-kv.source.properties.bootstrap.servers"), "b");
  EXPECT_EQ(config.Get("pipelines.user-kv.sink.columns.app_id"), "insight_id");
  EXPECT_EQ(config.Get("pipelines.user-kv.sink.identifier-fields"), "[a, b]");
  EXPECT_EQ(config.Get("pipelines.user-kv.commit.interval"), "60s");

  const std::string wrong = Write("wrong.yaml", "pipelines:\n  user-kv:\n    sink:\n      identifer-fields: [a]\n");
  EXPECT_THAT(Config::Load({.file = wrong, .overrides = {}}), IsError(ErrorCode::kInvalidArgument, "wrong.yaml:4"));
  EXPECT_THAT(Config::Load({.file = wrong, .overrides = {}}),
              IsError(ErrorCode::kInvalidArgument, "did you mean pipelines.user-kv.sink.identifier-fields?"));
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"pipelines.a=x"}}),
              IsError(ErrorCode::kInvalidArgument, "pipelines.a"));
}

TEST_F(ConfigTest, TakesSecretsFromFiles) {
  const std::string secret = Write("registry.secret", "me:pw\n");
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Config::Load({.file = {}, .overrides = {"schema-registries.main.url=http://${file:" + secret + "}@r"}}));
  const service::Setting& url = config.values().at("schema-registries.main.url");
  EXPECT_EQ(url.value, "http://me:pw@r");
  EXPECT_EQ(service::ShownValue("schema-registries.main.url", url), "********");
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"http.auth.token=${file:" + dir_.Join("absent") + "}"}}),
              IsError(ErrorCode::kInvalidArgument, "absent"));
}

TEST_F(ConfigTest, KnowsOneVersionOfTheFile) {
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"version=1"}}), IsOk());
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"version=2"}}), IsError(ErrorCode::kNotSupported, "version"));
}

TEST_F(ConfigTest, RefusesFilesThatAreNoMapping) {
  EXPECT_THAT(Config::Load({.file = dir_.Join("absent.yaml"), .overrides = {}}),
              IsError(ErrorCode::kNotFound, "absent.yaml"));
  EXPECT_THAT(Config::Load({.file = Write("list.yaml", "- a\n"), .overrides = {}}),
              IsError(ErrorCode::kInvalidArgument, "mapping"));
  EXPECT_THAT(Config::Load({.file = Write("broken.yaml", "a: [1\nb: }"), .overrides = {}}),
              IsError(ErrorCode::kInvalidArgument, "broken.yaml:"));
  EXPECT_THAT(Config::Load({.file = Write("empty.yaml", "# nothing\n"), .overrides = {}}), IsOk());
  EXPECT_THAT(Config::Load({.file = {}, .overrides = {"limits.memory"}}),
              IsError(ErrorCode::kInvalidArgument, "key=value"));
}

}  // namespace
}  // namespace frazil::cli

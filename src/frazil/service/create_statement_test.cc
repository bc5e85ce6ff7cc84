#include "frazil/service/create_statement.h"

#include "frazil/base/test_support.h"

namespace frazil::service {
namespace {

PipelineConfig UserKv() {
  PipelineConfig config;
  config.id = "user-kv";
  config.catalog = "prod";
  config.table = {{"apps"}, "user_kv"};
  config.identifier_fields = {"app_id", "user_id", "key"};
  config.partition_by = {"bucket(32, app_id)", "bucket(8, key)"};
  config.columns.source_of = {{"app_id", "insight_id"}, {"updated_at", "$timestamp"}};
  return config;
}

TEST(CreateStatement, IsWhatAPersonCouldHaveTyped) {
  PipelineConfig config = UserKv();
  config.table_properties = {{"format-version", "3"}, {"note", "it's"}};
  EXPECT_EQ(CreateTableStatement(config, "a bigint"),
            "CREATE TABLE IF NOT EXISTS prod.apps.user_kv (a bigint) USING iceberg PARTITIONED BY (bucket(32, app_id), "
            "bucket(8, key)) TBLPROPERTIES ('format-version' = '3', 'history.expire.max-snapshot-age-ms' = '86400000', "
            "'note' = 'it''s', 'write.parquet.page-row-limit' = '1000')");
}

}  // namespace
}  // namespace frazil::service

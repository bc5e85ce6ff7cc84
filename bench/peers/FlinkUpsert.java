// What Flink's upsert sink makes of rows like those of `./dev bench ingest`: FlinkUpsert WAREHOUSE ROWS KEYS PARALLELISM CHECKPOINT_MS
//
// Rows are made in memory: the format of Confluent Avro cannot be had without its registry's client, so Kafka and decoding are left
// out, in Flink's favour. Upserts are blind: Flink looks no key up, it writes an equality delete beside each row and leaves the rest
// to readers. Prints one line of JSON.

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.flink.CatalogLoader;

public class FlinkUpsert {
  public static void main(String[] arguments) throws Exception {
    String warehouse = arguments[0];
    long rows = Long.parseLong(arguments[1]);
    long keys = Long.parseLong(arguments[2]);
    int parallelism = Integer.parseInt(arguments[3]);
    long checkpointMs = Long.parseLong(arguments[4]);

    Configuration settings = new Configuration();
    settings.setString("taskmanager.memory.managed.size", "256mb");
    settings.setString("taskmanager.numberOfTaskSlots", "" + parallelism);
    settings.setString("rest.port", "0");
    settings.setString("rest.address", "127.0.0.1");
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(parallelism, settings);
    environment.enableCheckpointing(checkpointMs);
    StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
    tables.executeSql("CREATE CATALOG ice WITH ('type'='iceberg','catalog-type'='hadoop','warehouse'='" + warehouse
        + "','property-version'='1')");
    tables.executeSql("CREATE DATABASE ice.bench");
    tables.executeSql("CREATE TABLE ice.bench.user_kv (app_id BIGINT NOT NULL, user_id BIGINT NOT NULL, `key` STRING NOT NULL, "
        + "`value` STRING, updated_at TIMESTAMP_LTZ(6), PRIMARY KEY (app_id, user_id, `key`) NOT ENFORCED) "
        + "WITH ('format-version'='2','write.upsert.enabled'='true')");
    // Flink's SQL cannot declare bucket().
    var catalog = CatalogLoader.hadoop("ice", new org.apache.hadoop.conf.Configuration(), java.util.Map.of("warehouse", warehouse)).loadCatalog();
    var table = catalog.loadTable(TableIdentifier.of("bench", "user_kv"));
    table.updateSpec().addField(Expressions.bucket("app_id", 32)).addField(Expressions.bucket("key", 8)).commit();

    var source = new DataGeneratorSource<Long>(i -> i, rows, Types.LONG);
    tables.createTemporaryView("source", environment.fromSource(source, WatermarkStrategy.noWatermarks(), "rows"),
        Schema.newBuilder().columnByExpression("i", "f0").column("f0", DataTypes.BIGINT().notNull()).build());
    long start = System.nanoTime();
    tables.executeSql("INSERT INTO ice.bench.user_kv /*+ OPTIONS('upsert-enabled'='true') */ SELECT MOD(n, 1000), n, "
        + "CONCAT('setting_', CAST(MOD(n, 200) AS STRING)), CONCAT('some words that repeat and a token ', SUBSTRING(MD5(CAST(i AS STRING)), 1, 16)), "
        + "CAST(TO_TIMESTAMP_LTZ(1767225600000 + i, 3) AS TIMESTAMP_LTZ(6)) FROM (SELECT i, MOD(i * 2654435761, " + keys + ") AS n FROM source)").await();
    double seconds = (System.nanoTime() - start) / 1e9;
    table.refresh();
    long equalityDeletes = 0;
    long commits = 0;
    for (var snapshot : table.snapshots()) {
      equalityDeletes += Long.parseLong(snapshot.summary().getOrDefault("added-equality-deletes", "0"));
      ++commits;
    }
    System.out.printf("{\"rows\":%d,\"job_s\":%.2f,\"rows_per_s\":%.0f,\"commits\":%d,\"equality_deletes\":%d}%n", rows, seconds,
        rows / seconds, commits, equalityDeletes);
    System.exit(0);
  }
}

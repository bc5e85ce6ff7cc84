"""Tables of other engines and of any age: what Spark writes, frazil reads as Spark does, with lineage where there is some."""

import pytest

import engines
from engines import CHANGED, ROW_ID


@pytest.fixture
def spark_table(home, spark):
    """A table of Spark's: `t.sql(...)` with {t} for its name, `t.check()` compares both engines on all columns."""

    class Table:
        def create(self, columns, rest=""):
            spark.sql("CREATE NAMESPACE IF NOT EXISTS {c}.db")
            self.sql(f"CREATE TABLE {{t}} ({columns}) USING iceberg {rest}")

        def sql(self, *statements):
            for statement in statements:
                spark.sql(statement.replace("{t}", "{c}.db.t"))

        def java(self):
            return spark.session._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
                spark.session._jsparkSession, f"{spark.catalog}.db.t")

        def check(self, *filters, lineage=False, columns=None):
            frazil = engines.Frazil(home)
            columns = columns or [row[0] for row in spark.sql("DESCRIBE TABLE {c}.db.t")
                                  if row[0] and not row[0].startswith("#") and row[0] != "Part 0"]
            columns = list(dict.fromkeys(columns)) + ([ROW_ID, CHANGED] if lineage else [])
            assert normal(frazil.rows("db.t", columns)) == normal(spark.rows("db.t", columns))
            for condition in filters:
                ours = home.sql(f"SELECT count(*) AS n FROM db.t WHERE {condition}")
                assert (condition, ours[0]["n"]) == (condition, spark.sql(f"SELECT count(*) FROM {{c}}.db.t WHERE {condition}")[0][0])

        def check_deleted(self, columns, *filters):
            """With `_deleted` named, both show the rows too that deletes hide, marked; the number of those."""
            for condition in ["true", "_deleted", "NOT _deleted", *filters]:
                query = f"SELECT {columns}, _deleted FROM {{}}db.t WHERE {condition}"
                ours = [list(row.values()) for row in home.sql(query.format(""))]
                assert (condition, in_text(ours)) == (condition, in_text(spark.sql(query.format("{c}."))))
            return home.sql("SELECT count(*) AS n FROM db.t WHERE _deleted")[0]["n"]

    return Table()


def in_text(rows):
    return sorted(str([None if value is None else str(value).lower() for value in row]) for row in rows)


def normal(rows):
    """Maps are pairs in Arrow's Python form and empty ones lists; moments end in +00 in ours; floats are printed short."""
    def one(value):
        if value == "NaN":
            return "nan"
        if isinstance(value, str) and value.endswith("+00"):
            return value + ":00"
        if isinstance(value, list) and value and all(isinstance(v, list) and len(v) == 2 and isinstance(v[0], str) for v in value):
            return {k: one(v) for k, v in value}
        if isinstance(value, list):
            return [one(v) for v in value]
        if isinstance(value, dict):
            return {k: one(v) for k, v in value.items()} or []
        if isinstance(value, float):
            return round(value, 6)
        return value
    return sorted((tuple(one(v) for v in row) for row in rows), key=repr)


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_columns_evolve_at_every_depth(spark_table, version, file_format):
    t = spark_table
    t.create("id bigint, n int, x float, s struct<a: int, b: string>, l array<struct<k: int>>, m map<string, struct<v: float>>",
             f"TBLPROPERTIES ('format-version'='{version}', 'write.format.default'='{file_format}')")
    t.sql("INSERT INTO {t} VALUES (1, 10, 0.1, struct(1, 'x'), array(struct(1), null), map('k', struct(0.5))),"
          " (2, null, null, null, null, null), (3, -1, float('nan'), struct(null, 'z'), array(), map())")
    t.check("n > 0", "s.a = 1", lineage=version == 3)
    t.sql("ALTER TABLE {t} ALTER COLUMN n TYPE bigint", "ALTER TABLE {t} ALTER COLUMN x TYPE double",
          "ALTER TABLE {t} ALTER COLUMN m.value.v TYPE double", "ALTER TABLE {t} RENAME COLUMN s.b TO c",
          "ALTER TABLE {t} ADD COLUMN s.b int", "ALTER TABLE {t} ADD COLUMN l.element.more string FIRST",
          "ALTER TABLE {t} DROP COLUMN s.a", "ALTER TABLE {t} ADD COLUMN s.a string", "ALTER TABLE {t} ALTER COLUMN s FIRST")
    t.check("n > 0", "s.c = 'x'", "s.a IS NULL", "x > 0.1", "x = 0.1", lineage=version == 3)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_partitions_evolve(spark_table, version):
    t = spark_table
    t.create("id int, cat string, moment timestamp", f"PARTITIONED BY (cat) TBLPROPERTIES ('format-version'='{version}')")
    t.sql("INSERT INTO {t} VALUES (1, 'a', timestamp '2026-01-01 00:00:00'), (2, null, timestamp '1969-12-31 23:00:00'), (3, 'b', null)",
          "ALTER TABLE {t} REPLACE PARTITION FIELD cat WITH bucket(4, id)",
          "INSERT INTO {t} VALUES (4, 'a', timestamp '2026-02-01 00:00:00'), (5, null, null)",
          "ALTER TABLE {t} ADD PARTITION FIELD months(moment)", "INSERT INTO {t} VALUES (6, 'c', timestamp '2026-02-03 00:00:00')",
          "ALTER TABLE {t} DROP PARTITION FIELD bucket(4, id)", "INSERT INTO {t} VALUES (7, 'a', timestamp '1969-12-30 00:00:00')")
    t.check("cat = 'a'", "cat IS NULL", "id = 4", "moment >= timestamp '2026-02-01 00:00:00'", "moment < timestamp '1970-01-01 00:00:00'",
            "cat IN ('b', 'c') OR id = 1", lineage=version == 3)


def test_position_deletes_stay_after_an_upgrade(spark_table):
    t = spark_table
    t.create("id int, cat string", "PARTITIONED BY (cat) TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read', "
             "'write.update.mode'='merge-on-read', 'write.delete.granularity'='partition')")
    t.sql("INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('c', id % 3) FROM range(30)", "INSERT INTO {t} SELECT id + 30, concat('c', id % 3) FROM range(30)",
          "DELETE FROM {t} WHERE id % 7 = 0", "DELETE FROM {t} WHERE id % 11 = 0")
    t.check("cat = 'c1'", "id > 40")
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3')")
    t.check("cat = 'c1'", lineage=True)
    t.sql("DELETE FROM {t} WHERE id % 5 = 0")
    t.check("cat = 'c1'", "id > 40", lineage=True)
    t.sql("UPDATE {t} SET cat = 'moved' WHERE id IN (1, 31)")
    t.check("cat = 'moved'", "id > 40", lineage=True)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("file_format", ["PARQUET", "AVRO"])
def test_equality_deletes(spark_table, spark, version, file_format):
    t = spark_table
    t.create("id int, name string, cat string", f"PARTITIONED BY (cat) TBLPROPERTIES ('format-version'='{version}')")
    jvm, gateway = spark.session._jvm, spark.session.sparkContext._gateway
    iceberg = jvm.org.apache.iceberg

    def delete(columns, rows, cat):
        table = t.java()
        names = jvm.java.util.ArrayList()
        for column in columns:
            names.add(column)
        schema = table.schema().select(names)
        ids = gateway.new_array(gateway.jvm.int, len(columns))
        for i, column in enumerate(columns):
            ids[i] = table.schema().findField(column).fieldId()
        partition = iceberg.PartitionData(table.spec().partitionType())
        partition.set(0, cat)
        form = getattr(iceberg.FileFormat, file_format)
        files = iceberg.io.OutputFileFactory.builderFor(table, 1, len(rows)).format(form).suffix("deletes").build()
        factory = (iceberg.data.GenericFileWriterFactory.Builder(table).deleteFileFormat(form).equalityFieldIds(ids)
                   .equalityDeleteRowSchema(schema).build())
        writer = factory.newEqualityDeleteWriter(files.newOutputFile(table.spec(), partition), table.spec(), partition)
        for row in rows:
            record = iceberg.data.GenericRecord.create(schema)
            for column, value in zip(columns, row):
                record.setField(column, value)
            writer.write(record)
        writer.close()
        table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()

    t.sql("INSERT INTO {t} VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, null, 'x'), (1, 'a', 'y'), (2, null, 'y')")
    delete(["id"], [(1,)], "x")
    t.check("id = 1", "name = 'a'", lineage=version == 3)
    t.sql("INSERT INTO {t} VALUES (1, 'again', 'x')")
    delete(["name", "id"], [(None, 3), ("b", 3)], "x")
    delete(["name"], [(None,)], "y")
    t.check("id = 1", "name IS NULL", "cat = 'x'", lineage=version == 3)
    assert t.check_deleted("id, name, cat", "id = 1", "name IS NULL", "cat = 'y' AND _deleted") == 3
    t.sql("ALTER TABLE {t} DROP COLUMN name")
    t.check("id = 1", lineage=version == 3)


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
@pytest.mark.parametrize("version", [2, 3])
def test_deleted_rows_are_shown_as_spark_shows_them(spark_table, version, file_format):
    """By vectors and position files; by equality deletes in the test above them. Rows of files that are gone are shown by none."""
    t = spark_table
    t.create("id int, name string, cat string",
             f"PARTITIONED BY (cat) TBLPROPERTIES ('format-version'='{version}', 'write.format.default'='{file_format}', "
             "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')")
    t.sql("INSERT INTO {t} SELECT CAST(id AS int), CONCAT('n', id), IF(id < 50, 'x', 'y') FROM range(60)")
    assert t.check_deleted("id, name") == 0
    t.sql("DELETE FROM {t} WHERE id % 7 = 3", "DELETE FROM {t} WHERE id IN (1, 2, 3, 59)")
    assert t.check_deleted("id, name", "id < 4", "id = 3 AND _deleted", "name = 'n59'", "name IS NULL") == 11
    t.sql("UPDATE {t} SET name = null WHERE id IN (0, 58)")  # the old row is hidden, the new one is not
    assert t.check_deleted("id, name", "id = 58", "name IS NULL", "_deleted OR id = 0") == 13
    t.sql("DELETE FROM {t} WHERE cat = 'y'")  # whole files: nothing of them is left to be shown
    assert t.check_deleted("id, name", "id >= 50") == 10
    t.check("id < 4")


def test_imported_files_are_read_by_name_mapping(spark_table, spark, home):
    source = home.folder / "hive"
    spark.session.sql("SELECT 1 AS id, 'a' AS name, named_struct('x', 2, 'y', array(1)) AS s").write.parquet(str(source))
    t = spark_table
    t.create("id int, name string, s struct<x: int, y: array<int>>")
    spark.sql(f"CALL {{c}}.system.add_files(table => 'db.t', source_table => '`parquet`.`{source}`')")
    t.check("name = 'a'", "s.x = 2")
    t.sql("ALTER TABLE {t} RENAME COLUMN s.x TO z", "ALTER TABLE {t} RENAME COLUMN name TO title")
    t.check("title = 'a'", "s.z = 2")

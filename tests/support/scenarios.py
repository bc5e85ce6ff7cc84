"""What a table lives through, in statements that frazil and Spark both take: {t} is the table, {mor} its usual properties.

Each is run by frazil on one table and by Spark on another; then all engines read both (tests/interop/test_scenarios.py), and
those of SPARK35 also with the versions that managed services run (tests/interop/test_spark35.py).
"""

import engines
from engines import CHANGED, ROW_ID

OURS, THEIRS = "s.ours", "s.theirs"
# What one of the two cannot run: Spark 4.1 writes no defaults, frazil makes no tables of version 1.
ONLY_OURS, ONLY_SPARKS = ["a_column_with_defaults"], ["upgraded_from_version_1"]
# (engine, scenario): where that engine reads otherwise, of our table and of Spark's alike, and why.
DIFFERENCES = {
    ("PyIceberg", "members_of_structs_in_lists_and_maps"): "null lists and maps whose members have changed are read as empty ones",
}

MERGE_ON_READ = ", ".join(f"'write.{what}.mode' = 'merge-on-read'" for what in ("delete", "update", "merge"))
PROPERTIES = {
    "mor": f"TBLPROPERTIES ('format-version' = '3', {MERGE_ON_READ})",
    "cow": "TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'copy-on-write', 'write.update.mode' = 'copy-on-write', "
           "'write.merge.mode' = 'copy-on-write')",
    "v2": f"TBLPROPERTIES ('format-version' = '2', {MERGE_ON_READ})",
    "v1": "TBLPROPERTIES ('format-version' = '1')",
}
TEN = ", ".join(f"({i}, 'name {i}', {i * 1.5})" for i in range(10))

DML = {
    "deletes_of_one_file_again_and_again": f"""
        CREATE TABLE {{t}} (id bigint, name string, x double) USING iceberg {{mor}};
        INSERT INTO {{t}} VALUES {TEN};
        DELETE FROM {{t}} WHERE id = 1; DELETE FROM {{t}} WHERE id = 3; DELETE FROM {{t}} WHERE id > 7""",
    "a_delete_that_empties_a_file_and_one_that_empties_the_table": """
        CREATE TABLE {t} (id bigint, name string) USING iceberg PARTITIONED BY (name) {mor};
        INSERT INTO {t} VALUES (1, 'a'), (2, 'b'), (3, 'b'); DELETE FROM {t} WHERE name = 'b'; DELETE FROM {t} WHERE id >= 0;
        INSERT INTO {t} VALUES (4, 'b')""",
    "an_update_that_moves_rows_between_partitions": """
        CREATE TABLE {t} (id bigint, name string) USING iceberg PARTITIONED BY (name) {mor};
        INSERT INTO {t} VALUES (1, 'a'), (2, 'b'), (3, NULL);
        UPDATE {t} SET name = 'b' WHERE id = 1; UPDATE {t} SET name = NULL WHERE id = 2; UPDATE {t} SET name = 'c' WHERE name IS NULL""",
    "a_merge_with_every_clause": f"""
        CREATE TABLE {{t}} (id bigint, name string, x double) USING iceberg PARTITIONED BY (bucket(4, id)) {{mor}};
        INSERT INTO {{t}} VALUES {TEN};
        MERGE INTO {{t}} t USING (SELECT id + 5 AS id, x + 100 AS x FROM {{t}}) s ON t.id = s.id
          WHEN MATCHED AND s.id = 6 THEN DELETE WHEN MATCHED THEN UPDATE SET x = s.x
          WHEN NOT MATCHED THEN INSERT (id, name, x) VALUES (s.id, 'new', s.x)
          WHEN NOT MATCHED BY SOURCE AND t.id < 2 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET name = 'old'""",
    "copy_on_write_keeps_lineage": f"""
        CREATE TABLE {{t}} (id bigint, name string, x double) USING iceberg {{cow}};
        INSERT INTO {{t}} VALUES {TEN}; UPDATE {{t}} SET x = x + 1 WHERE id < 3; DELETE FROM {{t}} WHERE id = 9;
        UPDATE {{t}} SET name = 'twice' WHERE id IN (2, 5)""",
    "overwrite_of_everything_and_of_one_partition": """
        CREATE TABLE {t} (id bigint, part string) USING iceberg PARTITIONED BY (part) {mor};
        INSERT INTO {t} VALUES (1, 'a'), (2, 'a'), (3, 'b'); DELETE FROM {t} WHERE id = 1;
        INSERT OVERWRITE {t} PARTITION (part = 'a') VALUES (7), (8); INSERT INTO {t} VALUES (9, 'c')""",
    "dynamic_overwrite": """
        CREATE TABLE {t} (id bigint, part string) USING iceberg PARTITIONED BY (part) {mor};
        INSERT INTO {t} VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'c'); SET spark.sql.sources.partitionOverwriteMode=dynamic;
        INSERT OVERWRITE {t} VALUES (5, 'a'), (6, 'd'); SET spark.sql.sources.partitionOverwriteMode=static""",
    "truncated_and_filled_again": """
        CREATE TABLE {t} (id bigint) USING iceberg {mor}; INSERT INTO {t} VALUES (1), (2); TRUNCATE TABLE {t}; INSERT INTO {t} VALUES (3)""",
    "many_small_commits_and_a_delete_across_them": "CREATE TABLE {t} (id bigint, k int) USING iceberg {mor};"
        + "".join(f"INSERT INTO {{t}} VALUES ({i}, {i % 3}), ({i + 100}, {i % 5});" for i in range(8)) + "DELETE FROM {t} WHERE k = 1",
    "never_written": "CREATE TABLE {t} (id bigint, name string) USING iceberg {mor}",
}

EVOLUTION = {
    "columns_renamed_moved_dropped_and_back": """
        CREATE TABLE {t} (id bigint, a string, b int, c double) USING iceberg {mor}; INSERT INTO {t} VALUES (1, 'one', 1, 0.5), (2, 'two', 2, NULL);
        ALTER TABLE {t} RENAME COLUMN a TO title; ALTER TABLE {t} DROP COLUMN b; ALTER TABLE {t} ADD COLUMN b string;
        ALTER TABLE {t} ALTER COLUMN c FIRST; INSERT INTO {t} (id, title, b, c) VALUES (3, 'three', 'bee', 1.5); DELETE FROM {t} WHERE id = 1""",
    "types_promoted": """
        CREATE TABLE {t} (id int, f float, d decimal(9,2), l int) USING iceberg {mor};
        INSERT INTO {t} VALUES (1, 0.5, 1.25, -5), (2147483647, NULL, -9999999.99, NULL);
        ALTER TABLE {t} ALTER COLUMN id TYPE bigint; ALTER TABLE {t} ALTER COLUMN f TYPE double; ALTER TABLE {t} ALTER COLUMN d TYPE decimal(20,2);
        INSERT INTO {t} VALUES (2147483648, 0.25, 123456789012345678.25, 7); UPDATE {t} SET l = 1 WHERE id = 1""",
    "members_of_structs_in_lists_and_maps": """
        CREATE TABLE {t} (id bigint, s struct<a: int, b: string>, l array<struct<k: int>>, m map<string, struct<v: float>>) USING iceberg {mor};
        INSERT INTO {t} VALUES (1, {'a': 1, 'b': 'x'}, [{'k': 1}], map {'k': {'v': 0.5}}), (2, NULL, NULL, NULL);
        ALTER TABLE {t} RENAME COLUMN s.b TO c; ALTER TABLE {t} ADD COLUMN s.b int; ALTER TABLE {t} ALTER COLUMN m.value.v TYPE double;
        ALTER TABLE {t} ADD COLUMN l.element.more string FIRST; ALTER TABLE {t} DROP COLUMN s.a;
        INSERT INTO {t} VALUES (3, {'c': 'y', 'b': 2}, [{'more': 'm', 'k': 3}], map {'z': {'v': 0.25}})""",
    "a_column_with_defaults": """
        CREATE TABLE {t} (id bigint) USING iceberg {mor}; INSERT INTO {t} VALUES (1), (2);
        ALTER TABLE {t} ADD COLUMN n int DEFAULT 7; ALTER TABLE {t} ALTER COLUMN n SET DEFAULT 8; INSERT INTO {t} (id) VALUES (3);
        DELETE FROM {t} WHERE id = 1""",
    "partitions_changed_with_vectors_on_files_of_both": """
        CREATE TABLE {t} (id bigint, part string, at timestamp) USING iceberg PARTITIONED BY (part) {mor};
        INSERT INTO {t} VALUES (1, 'a', TIMESTAMP '1969-12-31 23:00:00'), (2, 'a', NULL), (3, NULL, TIMESTAMP '2026-02-03 04:05:06');
        ALTER TABLE {t} REPLACE PARTITION FIELD part WITH months(at); INSERT INTO {t} VALUES (4, 'a', TIMESTAMP '2026-03-01 00:00:00'),
          (5, 'b', TIMESTAMP '2026-03-31 23:59:59'); DELETE FROM {t} WHERE id IN (1, 4); ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id);
        INSERT INTO {t} VALUES (6, 'c', NULL), (7, 'c', NULL); UPDATE {t} SET part = 'z' WHERE id > 4""",
    "upgraded_from_version_2_with_position_deletes": f"""
        CREATE TABLE {{t}} (id bigint, name string, x double) USING iceberg {{v2}}; INSERT INTO {{t}} VALUES {TEN};
        DELETE FROM {{t}} WHERE id < 2; ALTER TABLE {{t}} SET TBLPROPERTIES ('format-version' = '3'); DELETE FROM {{t}} WHERE id = 5;
        UPDATE {{t}} SET name = 'six' WHERE id = 6; INSERT INTO {{t}} VALUES (20, 'x', 0)""",
    "upgraded_from_version_1": f"""
        CREATE TABLE {{t}} (id bigint, name string, x double) USING iceberg PARTITIONED BY (name) {{v1}}; INSERT INTO {{t}} VALUES {TEN};
        ALTER TABLE {{t}} SET TBLPROPERTIES ('format-version' = '3', {MERGE_ON_READ}); DELETE FROM {{t}} WHERE id = 5; INSERT INTO {{t}} VALUES (20, 'x', 0)""",
    "version_2_with_position_deletes": f"""
        CREATE TABLE {{t}} (id bigint, name string, x double) USING iceberg PARTITIONED BY (bucket(2, id)) {{v2}}; INSERT INTO {{t}} VALUES {TEN};
        DELETE FROM {{t}} WHERE id < 2; UPDATE {{t}} SET x = -1 WHERE id > 8; DELETE FROM {{t}} WHERE id = 3""",
    "a_branch_written_and_taken_over": """
        CREATE TABLE {t} (id bigint) USING iceberg {mor}; INSERT INTO {t} VALUES (1), (2); ALTER TABLE {t} CREATE TAG first;
        ALTER TABLE {t} CREATE BRANCH audit; INSERT INTO {t}.branch_audit VALUES (3); DELETE FROM {t}.branch_audit WHERE id = 1;
        CALL {c}system.fast_forward(table => '{name}', branch => 'main', to => 'audit'); INSERT INTO {t} VALUES (4)""",
    "rewritten_and_deleted_from_again": "CREATE TABLE {t} (id bigint, k int) USING iceberg {mor};"
        + "".join(f"INSERT INTO {{t}} VALUES ({i}, {i % 3}), ({i + 100}, {i % 5});" for i in range(5)) + """DELETE FROM {t} WHERE k = 1;
        CALL {c}system.rewrite_data_files(table => '{name}', options => map('min-input-files', '2')); DELETE FROM {t} WHERE id = 2;
        CALL {c}system.rewrite_manifests(table => '{name}'); UPDATE {t} SET k = 9 WHERE id > 102""",
}

TYPES = {
    "decimals_of_every_size": """
        CREATE TABLE {t} (id int, a decimal(4,1), b decimal(9,9), c decimal(18,0), d decimal(38,38), e decimal(38,0)) USING iceberg {mor};
        INSERT INTO {t} VALUES (1, 999.9, 0.999999999, 999999999999999999, CAST('0.99999999999999999999999999999999999999' AS decimal(38,38)), 99999999999999999999999999999999999999),
          (2, -999.9, -0.000000001, -1, CAST('-0.00000000000000000000000000000000000001' AS decimal(38,38)), -99999999999999999999999999999999999999), (3, NULL, NULL, NULL, NULL, NULL);
        DELETE FROM {t} WHERE e = -99999999999999999999999999999999999999""",
    "floats_that_are_no_numbers": """
        CREATE TABLE {t} (id int, f float, d double) USING iceberg {mor};
        INSERT INTO {t} VALUES (1, CAST('NaN' AS float), CAST('NaN' AS double)), (2, CAST('Infinity' AS float), CAST('-Infinity' AS double)), (3, 0.0, 1e308), (4, NULL, NULL);
        DELETE FROM {t} WHERE d > 1e307 AND d < 1.5e308""",
    "texts_longer_than_bounds_and_of_every_plane": """
        CREATE TABLE {t} (id int, s string) USING iceberg PARTITIONED BY (truncate(2, s)) {mor};
        INSERT INTO {t} VALUES (1, ''), (2, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaz'), (3, 'åß∂ƒ©˙∆˚¬…æ≈ç√∫˜µ'), (4, '🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊'), (5, NULL), (6, 'tab	and ''quote''');
        UPDATE {t} SET s = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaay' WHERE s = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaz'; DELETE FROM {t} WHERE s = '🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊🧊'""",
    "dates_and_times_around_the_epoch": """
        CREATE TABLE {t} (id int, d date, z timestamp, n timestamp_ntz) USING iceberg PARTITIONED BY (days(z)) {mor};
        INSERT INTO {t} VALUES (1, DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMP '1969-12-31 23:59:59.999999'),
          (2, DATE '0001-01-01', TIMESTAMP '1900-01-01 00:00:00', TIMESTAMP '1582-10-15 00:00:00'), (3, NULL, NULL, NULL),
          (4, DATE '9999-12-31', TIMESTAMP '2262-04-11 23:47:16', TIMESTAMP '2500-01-01 00:00:00.000001'); DELETE FROM {t} WHERE d < DATE '1900-01-01'""",
    "binaries_and_booleans": """
        CREATE TABLE {t} (id int, b binary, ok boolean) USING iceberg PARTITIONED BY (ok) {mor};
        INSERT INTO {t} VALUES (1, CAST('' AS binary), true), (2, CAST('abcdefghijklmnopqrstuvwxyz' AS binary), false), (3, NULL, NULL); DELETE FROM {t} WHERE ok""",
    "lists_and_maps_with_nulls": """
        CREATE TABLE {t} (id int, l array<int>, m map<string, bigint>, ll array<array<string>>) USING iceberg {mor};
        INSERT INTO {t} VALUES (1, [1, NULL, 3], map {'a': 1, 'b': NULL}, [['x'], [NULL, 'y']]), (2, NULL, NULL, NULL), (3, [7], map {'': 0}, [NULL, ['z']]);
        DELETE FROM {t} WHERE id = 2; UPDATE {t} SET id = 30 WHERE id = 3""",
    "partitions_of_every_transform_with_nulls": """
        CREATE TABLE {t} (id bigint, s string, n int, d date, x decimal(9,2)) USING iceberg
          PARTITIONED BY (bucket(3, s), truncate(10, n), years(d), x) {mor};
        INSERT INTO {t} VALUES (1, 'a', -1, DATE '1969-06-01', -0.01), (2, NULL, NULL, NULL, NULL), (3, 'b', 19, DATE '2026-06-01', 1.50),
          (4, 'a', -11, DATE '1970-01-01', 1.5); DELETE FROM {t} WHERE n = -1; UPDATE {t} SET n = 20 WHERE id = 3""",
}

ALL = {**DML, **EVOLUTION, **TYPES}
# What Spark 3.5 with Iceberg 1.10 runs too.
SPARK35 = ["deletes_of_one_file_again_and_again", "an_update_that_moves_rows_between_partitions", "a_merge_with_every_clause",
           "copy_on_write_keeps_lineage", "members_of_structs_in_lists_and_maps", "partitions_changed_with_vectors_on_files_of_both",
           "upgraded_from_version_2_with_position_deletes", "dates_and_times_around_the_epoch", "rewritten_and_deleted_from_again"]


def script(name: str) -> list:
    """Its statements, with {t}, {name} and {c} still to be filled in."""
    text = ALL[name]
    for key, value in PROPERTIES.items():
        text = text.replace(f"{{{key}}}", value)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def filled(statement: str, table: str, catalog: str = "") -> str:
    return statement.replace("{t}", catalog + table).replace("{name}", table).replace("{c}", catalog)


def columns_of(home, table):
    columns = [row["col_name"] for row in home.sql(f"SHOW COLUMNS IN {table}")]
    metadata = home.metadata(table)
    has_lineage = metadata["format-version"] > 2 and metadata.get("current-snapshot-id") not in (None, -1)
    return columns, [ROW_ID, CHANGED] if has_lineage else []


def run_by_frazil(home, name, table):
    home.run("sql", "-f", "-", input=";\n".join(filled(s, table) for s in ["CREATE NAMESPACE IF NOT EXISTS s", *script(name)]) + ";")


def run_by_spark(spark, name, table):
    spark.sql("CREATE NAMESPACE IF NOT EXISTS {c}.s")
    for statement in script(name):
        spark.sql(engines.in_sparks_words(filled(statement, table, f"{spark.catalog}.")))


def rows(engine, table, columns, lineage):
    """Rows by value, in one form for all engines: frazil prints moments, bytes and floats its own way."""
    if isinstance(engine, engines.Frazil):
        return engine.typed_rows(table, [*columns, *lineage])
    return engine.rows(table, [*columns, *(lineage if engine.has_lineage else [])])


def check(home, readers, table, name):
    columns, lineage = columns_of(home, table)
    ours = rows(readers.frazil, table, columns, lineage)
    without = engines.in_order(row[:len(columns)] for row in ours)
    for engine in readers.all[1:]:
        expected = ours if engine.has_lineage else without
        found, wanted = normal(rows(engine, table, columns, lineage)), normal(expected)
        if (engine.name, name) in DIFFERENCES:
            assert found != wanted, f"{engine.name} has learnt it: take {name} out of DIFFERENCES"
            continue
        assert found == wanted, f"{engine.name} on {table}:\n{found}\n{wanted}"
    if lineage:
        ids = [row[len(columns)] for row in ours]
        assert None not in ids and len(set(ids)) == len(ids), "each row has an id of its own"
    return normal(without)


def normal(found):
    """Maps are lists of pairs in Arrow's Python form."""
    def one(value):
        if isinstance(value, dict):
            return {k: one(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            if value and all(isinstance(v, (list, tuple)) and len(v) == 2 and isinstance(v[0], str) for v in value):
                return {k: one(v) for k, v in value}
            return [one(v) for v in value] or {}
        return value
    return sorted((tuple(one(v) for v in row) for row in found), key=repr)

"""The engines that read the same tables: frazil, Spark with Iceberg, PyIceberg, DuckDB's extension.

Each reader has `rows(table, columns)`: a list of tuples of plain Python values, sorted, with the lineage columns where the
engine has them. Values that engines print differently are brought to one form by `plain`.
"""

import datetime
import decimal
import functools
import glob
import math
import os
import pathlib
import sysconfig
import uuid

ROW_ID = "_row_id"
CHANGED = "_last_updated_sequence_number"


def plain(value):
    """One form of a value for all engines: exact, comparable, and readable in a failed assertion."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return repr(value) if math.isnan(value) or math.isinf(value) else value
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc)
        return value.isoformat(sep=" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def in_order(rows) -> list:
    return sorted((tuple(plain(v) for v in row) for row in rows), key=repr)


def of_arrow(table) -> list:
    return list(zip(*(column.to_pylist() for column in table.columns)))


class Frazil:
    name = "frazil"
    has_lineage = True

    def __init__(self, home):
        self.home = home

    def rows(self, table, columns):
        names = ", ".join(f'"{c}"' for c in columns)
        return in_order([row[c] for c in columns] for row in self.home.sql(f"SELECT {names} FROM {table}"))


class Spark:
    name = "Spark"
    has_lineage = True

    def __init__(self, home, session):
        self.session = session
        self.catalog = home.catalog
        prefix = f"spark.sql.catalog.{home.catalog}"
        for key, value in {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "jdbc", ".uri": f"jdbc:sqlite:{home.catalog_file}",
                           ".warehouse": home.warehouse, ".cache-enabled": "false", ".jdbc.schema-version": "V1"}.items():
            session.conf.set(prefix + key, value)

    def run(self, statement, fetch):
        """Runs a statement in which {c} stands for the catalog. Java's stack traces are not passed on."""
        statement = statement.replace("{c}", self.catalog)
        try:
            return fetch(self.session.sql(statement))
        except Exception as error:
            raise AssertionError(f"Spark: {statement}\n{str(error)[:1500]}") from None

    def sql(self, statement):
        return [tuple(row) for row in self.run(statement, lambda frame: frame.collect())]

    def arrow(self, statement):
        """Unlike collect(), it keeps the time zone of moments."""
        return self.run(statement, lambda frame: frame.toArrow())

    def rows(self, table, columns):
        names = ", ".join(f"`{c}`" for c in columns)
        return in_order(of_arrow(self.arrow(f"SELECT {names} FROM {{c}}.{table}")))


class PyIceberg:
    name = "PyIceberg"
    has_lineage = False

    def __init__(self, home):
        from pyiceberg.catalog.sql import SqlCatalog
        self.catalog = SqlCatalog(home.catalog, uri=f"sqlite:///{home.catalog_file}", warehouse=home.warehouse)

    def load(self, table):
        return self.catalog.load_table(table)

    def rows(self, table, columns):
        return in_order(of_arrow(self.load(table).scan(selected_fields=tuple(columns)).to_arrow().select(columns)))


class DuckDB:
    """DuckDB's own Iceberg extension (not the engine inside frazil)."""
    name = "DuckDB"
    has_lineage = True

    def __init__(self, home):
        self.home = home
        self.connection = duckdb_with_iceberg()

    def rows(self, table, columns):
        names = ", ".join(f'"{c}"' for c in columns)
        location = self.home.metadata_location(table)
        return in_order(self.connection.execute(f"SELECT {names} FROM iceberg_scan('{location}')").fetchall())


@functools.cache
def duckdb_with_iceberg():
    import duckdb
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": "2", "memory_limit": "1GB"})
    packages = sysconfig.get_paths()["purelib"]
    for extension in ("avro", "iceberg"):
        found = glob.glob(f"{packages}/**/{extension}.duckdb_extension", recursive=True)
        assert found, f"the package duckdb-extension-{extension} is not installed"
        connection.execute(f"LOAD '{found[0]}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def spark_session(folder: pathlib.Path):
    """One small local session for a whole test run; nothing listens beyond the loopback."""
    from pyspark.sql import SparkSession
    jars = os.environ["FRAZIL_SPARK_JAR"] + ":" + os.environ["FRAZIL_SQLITE_JDBC_JAR"]
    settings = {
        "spark.driver.extraClassPath": jars,
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -XX:+UseSerialGC",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    builder = SparkSession.builder.master("local[2]").appName("frazil-interop")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session

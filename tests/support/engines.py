"""The engines that read the same tables: frazil, Spark with Iceberg, PyIceberg, DuckDB's extension.

Each reader has `rows(table, columns)`: a list of tuples of plain Python values, sorted, with the lineage columns where the
engine has them. Values that engines print differently are brought to one form by `plain`.
"""

import datetime
import decimal
import functools
import glob
import json
import math
import os
import pathlib
import re
import subprocess
import sys
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

    def typed_rows(self, table, columns):
        """The same with values of the columns' types, through a Parquet file that frazil writes."""
        import pyarrow.parquet
        names = ", ".join(f'"{c}"' for c in columns)
        path = self.home.folder / f"rows-{len(list(self.home.folder.glob('rows-*')))}.parquet"
        self.home.run("sql", "-q", "-e", f"COPY (SELECT {names} FROM {table}) TO '{path}' (FORMAT parquet)")
        return in_order(of_arrow(pyarrow.parquet.read_table(path)))


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


class Spark35:
    """Spark 3.5 with Iceberg 1.10, as managed services run it; `worker` is the process of spark35()."""
    name = "Spark 3.5"
    has_lineage = True

    def __init__(self, home, worker):
        self.worker = worker
        self.catalog = home.catalog
        self.home = {"catalog": home.catalog, "catalog_file": str(home.catalog_file), "warehouse": home.warehouse}

    def ask(self, **request):
        self.worker.stdin.write(json.dumps({"home": self.home, **request}) + "\n")
        self.worker.stdin.flush()
        answer = json.loads(self.worker.stdout.readline() or '{"error": "Spark 3.5 ended"}')
        assert "error" not in answer, answer["error"]
        return [tuple(row) for row in answer["rows"]]

    def sql(self, statement):
        return self.ask(sql=statement)

    def rows(self, table, columns):
        return self.ask(table=table, columns=list(columns))


def spark35(folder: pathlib.Path):
    """The process behind Spark35; ends when its standard input is closed."""
    spark = pathlib.Path(os.environ["FRAZIL_SPARK35_DIR"])
    environment = {**os.environ, "SPARK_HOME": str(spark), "FRAZIL_SPARK_JAR": os.environ["FRAZIL_SPARK35_JAR"], "TZ": "UTC",
                   "PYTHONPATH": os.pathsep.join([str(spark / "python"), str(pathlib.Path(__file__).parent)])}
    worker = subprocess.Popen([sys.executable, "-B", pathlib.Path(__file__).with_name("spark35_worker.py"), str(folder)], env=environment,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    version = json.loads(worker.stdout.readline())["version"]
    assert version.startswith("3.5."), version
    return worker


def in_sparks_words(sql: str) -> str:
    """A statement of ours with Spark's way to write structs, lists and maps."""
    while (found := re.search(r"(map )?\{([^{}]*)\}|\[([^\[\]{}]*)\]", sql)):  # the innermost ones first
        if found[3] is not None:
            words = f"array({found[3]})"
        else:
            words = f"{'map' if found[1] else 'named_struct'}({found[2].replace(':', ',')})"
        sql = sql[:found.start()] + words + sql[found.end():]
    return sql


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


QUICK_START = "-XX:TieredStopAtLevel=1"  # for tests: a JVM that lives a minute never earns back its second compiler


def spark_session(folder: pathlib.Path, java_options="", memory="1g"):
    """One small local session for a whole test run; nothing listens beyond the loopback."""
    from pyspark.sql import SparkSession
    jars = os.environ["FRAZIL_SPARK_JAR"] + ":" + os.environ["FRAZIL_SQLITE_JDBC_JAR"]
    settings = {
        "spark.driver.extraClassPath": jars,
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -XX:+UseSerialGC {java_options}",
        "spark.driver.memory": memory,
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

"""Each type of the spec that JSON lines can bring, at its extremes and null, as the other engines read it."""

import datetime
import decimal
import re

import pytest

import engines
from engines import in_order, plain
from home import upsert

UTC = datetime.timezone.utc
D = decimal.Decimal

# column: (SQL type, [(JSON value, Python value), ...]) of rows 1, 2, ...; row 0 is all null.
COMMON = {
    "flag": ("boolean", [(True, True), (False, False)]),
    "i": ("int", [(-2**31, -2**31), (2**31 - 1, 2**31 - 1)]),
    "l": ("bigint", [(-2**63, -2**63), (2**63 - 1, 2**63 - 1)]),
    "f": ("float", [(0.5, 0.5), (-1048576.5, -1048576.5)]),
    "d": ("double", [(0.1, 0.1), (-1.7976931348623157e308, -1.7976931348623157e308)]),
    "small": ("decimal(9,2)", [("-9999999.99", D("-9999999.99")), ("0.01", D("0.01"))]),
    "middle": ("decimal(18,4)", [("-99999999999999.9999", D("-99999999999999.9999")), ("0.0001", D("0.0001"))]),
    "large": ("decimal(38,10)", [("-9999999999999999999999999999.9999999999", D("-9999999999999999999999999999.9999999999")),
                                 ("1.0000000001", D("1.0000000001"))]),
    "day": ("date", [("1969-12-31", datetime.date(1969, 12, 31)), ("2262-04-12", datetime.date(2262, 4, 12))]),
    "moment": ("timestamp", [("1969-12-31T23:59:59.999999Z", datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
                             ("2026-03-29T02:30:00+02:00", datetime.datetime(2026, 3, 29, 0, 30, tzinfo=UTC))]),
    "clock": ("timestamp_ntz", [("1969-12-31T23:59:59.999999", datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
                                ("2026-03-29T02:30:00", datetime.datetime(2026, 3, 29, 2, 30))]),
    "text": ("string", [("", ""), ("Åse, \"kvit\"\n\t\u2603 \U0001f9ca", "Åse, \"kvit\"\n\t\u2603 \U0001f9ca")]),
    "bytes": ("binary", [("", b""), ("AP9cJyIB", b"\x00\xff\\'\"\x01")]),
    "four": ("fixed(4)", [("AAECAw==", b"\x00\x01\x02\x03"), ("/////w==", b"\xff\xff\xff\xff")]),
    "id128": ("uuid", [("00112233-4455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899-aabbccddeeff"),
                       ("ffffffff-ffff-ffff-ffff-ffffffffffff", "ffffffff-ffff-ffff-ffff-ffffffffffff")]),
    "items": ("array<int>", [([], []), ([1, None, 3], [1, None, 3])]),
    "pairs": ("map<string, bigint>", [({}, {}), ({"a": 1, "b": None}, {"a": 1, "b": None})]),
    "nested": ("struct<x: int, y: struct<z: string>>", [({"x": 1, "y": {"z": "in"}}, {"x": 1, "y": {"z": "in"}}),
                                                        ({"x": None, "y": None}, {"x": None, "y": None})]),
}
TIME = {"t": ("time", [("00:00:00", datetime.time(0)), ("23:59:59.999999", datetime.time(23, 59, 59, 999999))])}
NANOS = {"n": ("timestamp_ns", [("1969-12-31T23:59:59.999999999", -1), ("2026-03-29T02:30:00.000000001", 1774751400000000001)])}


def make(home, table, columns):
    rows = [upsert({"id": 0}, **{name: None for name in columns})]
    count = len(next(iter(columns.values()))[1])
    for i in range(count):
        rows.append(upsert({"id": i + 1}, **{name: values[i][0] for name, (_, values) in columns.items()}))
    home.ingest(rows, table, "--create", "--columns",
                "id bigint not null, " + ", ".join(f"{name} {sql}" for name, (sql, _) in columns.items()))


def expected(columns, name):
    values = columns[name][1]
    return [plain(v) for v in (0, None)], *([i + 1, plain(value)] for i, (_, value) in enumerate(values))


def unescape(text):
    """frazil prints bytes as DuckDB does: what is not plain ASCII as \\xAB."""
    raw = bytearray()
    for part in re.finditer(r"\\x([0-9A-F]{2})|(.)", text, re.DOTALL):
        raw += bytes([int(part[1], 16)]) if part[1] else part[2].encode()
    return raw.hex()


def from_frazil(sql_type, value):
    if value is None:
        return None
    if sql_type == "timestamp":
        return re.sub(r"\+00$", "+00:00", value)
    if sql_type in ("binary", "fixed(4)"):
        return unescape(value)
    return plain(value)


@pytest.fixture
def common(home):
    make(home, "t.common", COMMON)


def check(engine, table, columns, convert=lambda sql_type, value: value):
    wrong = {}
    for name in columns:
        got = [[row[0], convert(columns[name][0], row[1])] for row in sorted(engine.rows(table, ["id", name]))]
        want = [list(row) for row in expected(columns, name)]
        if got != want:
            wrong[name] = (got, want)
    assert wrong == {}, engine.name


def test_frazil_reads_every_type_back(home, common):
    check(engines.Frazil(home), "t.common", COMMON, from_frazil)


def pairs_to_map(sql_type, value):
    """Arrow's Python form of a map is a list of pairs."""
    return dict(value) if sql_type.startswith("map") and value is not None else value


def test_spark_reads_every_type_alike(home, common, spark):
    check(spark, "t.common", COMMON, pairs_to_map)


def test_pyiceberg_reads_every_type_alike(home, common):
    check(engines.PyIceberg(home), "t.common", COMMON, pairs_to_map)


def test_duckdbs_extension_reads_every_type_alike(home, common):
    check(engines.DuckDB(home), "t.common", COMMON)


def test_times_of_day_are_read_alike_by_those_that_have_them(home):
    make(home, "t.times", TIME)
    for engine in (engines.Frazil(home), engines.PyIceberg(home), engines.DuckDB(home)):
        check(engine, "t.times", TIME)


def test_nanoseconds_are_read_alike_by_those_that_have_them(home):
    make(home, "t.nanos", NANOS)
    want = [[0, None], [1, -1], [2, 1774751400000000001]]
    ours = home.sql("SELECT id, epoch_ns(n) AS n FROM t.nanos ORDER BY id")
    assert [[row["id"], row["n"]] for row in ours] == want
    arrow = engines.PyIceberg(home).load("t.nanos").scan().to_arrow().sort_by("id")
    assert [[i, n] for i, n in zip(arrow["id"].to_pylist(), arrow["n"].cast("int64").to_pylist())] == want
    theirs = engines.duckdb_with_iceberg().execute(
        f"SELECT id, epoch_ns(n) FROM iceberg_scan('{home.metadata_location('t.nanos')}') ORDER BY id").fetchall()
    assert [list(row) for row in theirs] == want


def test_floats_that_are_no_numbers_are_read_alike(home, spark):
    make(home, "t.floats", {"f": ("float", [("NaN", 0), ("Infinity", 0), ("-Infinity", 0), (-0.0, 0)]),
                            "d": ("double", [("NaN", 0), ("Infinity", 0), ("-Infinity", 0), (-0.0, 0)])})
    want = in_order([(0, None), (1, float("nan")), (2, float("inf")), (3, float("-inf")), (4, -0.0)])
    for column in ("f", "d"):
        for engine in (spark, engines.PyIceberg(home), engines.DuckDB(home)):
            assert engine.rows("t.floats", ["id", column]) == want, (engine.name, column)
        ours = home.sql(f"SELECT id, {column}::VARCHAR AS v FROM t.floats ORDER BY id")
        assert [row["v"] for row in ours] == [None, "nan", "inf", "-inf", "-0.0"]
        # NaN sorts above everything and equals itself, in frazil as in Spark; bounds must not hide it.
        for condition in (f"{column} > 5", f"isnan({column})"):
            ours = sorted(row["id"] for row in home.sql(f"SELECT id FROM t.floats WHERE {condition}"))
            theirs = sorted(row[0] for row in spark.sql(f"SELECT id FROM {{c}}.t.floats WHERE {condition}"))
            assert ours == theirs, condition

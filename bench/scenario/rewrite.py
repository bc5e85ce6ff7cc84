"""Maintenance beside Spark's, on the same files in the same run: CPU seconds, memory, and whether the rows stayed.

    ./dev bench rewrite [--rows N] [--commits N] [--cases binpack,sort,equality,expire,orphans] [--memory-limit SIZE]
                        [--equality-memory-limit SIZE] [--spark-memory SIZE] [--dir DIR] [--skip-spark]

Two tables, partitioned by bucket(4, key): t3 (v3) of N rows in `commits` commits, each of which deletes 1 % of every older
file by vectors; t2 (v2) of half as many, with equality deletes of a quarter as many keys. The paper's size is
--rows 20000000 --commits 100.

  binpack   rewrite_data_files of t3          expire   expire_snapshots of t3 down to the last one
  sort      the same by key                   orphans  remove_orphan_files of t3 with as many strays as 12 times its files
  equality  rewrite_data_files of t2

Every contender gets its files back as they were. frazil is measured as a whole process; Spark's call is given alone and with
the session's start. Before and after, frazil hashes all rows with their lineage; after, Spark and DuckDB's extension add the
rows up too. A table, then the JSON of all figures as the last line. Without FRAZIL_SPARK_JAR Spark is left out.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
sys.path.insert(0, str(SUPPORT))

FRAZIL = os.environ["FRAZIL_BIN"]
BUILD = pathlib.Path(FRAZIL).parents[1]
TABLES = {"binpack": "t3", "sort": "t3", "equality": "t2", "expire": "t3", "orphans": "t3"}
GOALS = {"binpack": 3, "sort": 2, "equality": 10, "expire": 20, "orphans": 20}
OPTIONS = ("'min-input-files', '2', 'target-file-size-bytes', '134217728', 'delete-file-threshold', '1', "
           "'remove-dangling-deletes', 'true', 'max-concurrent-file-group-rewrites', '2'")
ROWS = "count(*) AS live_rows, sum(a) AS a, sum(b) AS b, min(key) AS low, max(key) AS high, sum(length(txt) * (a % 1000)) AS txt"
LINEAGE = ", sum(_row_id) AS ids, sum(_last_updated_sequence_number) AS changed"
HASH = "bit_xor(hash(key, a, b, d, txt, updated_at{lineage})) AS hash"


def measured(command, **options):
    """Runs a command; its output, wall and CPU seconds and peak resident MB, children included."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, text=True, **options)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit {process.returncode}\n{text}")
    return text, {"wall_s": time.monotonic() - started, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024}


def as_text(row):
    return {key: str(value) for key, value in row.items()}


class Lake:
    """A catalog and a warehouse that can be put back."""

    catalog = "lake"

    def __init__(self, folder):
        self.folder = folder
        self.catalog_file = folder / "catalog.db"
        self.warehouse = f"file://{folder}/warehouse"
        (folder / "frazil.yaml").write_text(f"default-catalog: lake\ncatalogs:\n  lake:\n    type: sql\n    uri: sqlite:///{self.catalog_file}\n"
                                            f"    warehouse: {self.warehouse}\n")

    def fill(self, kind, rows, commits, deletes):
        command = [BUILD / "bench" / "rewrite_tables_bench", self.folder, kind, str(rows), str(commits), str(deletes)]
        subprocess.run(command, check=True)

    def save(self):
        shutil.copy(self.catalog_file, self.folder / "saved.db")
        subprocess.run(["cp", "-al", self.folder / "warehouse", self.folder / "saved"], check=True)

    def restore(self):
        """Files are links to what was saved: deleting one leaves the other."""
        shutil.rmtree(self.folder / "warehouse")
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        subprocess.run(["cp", "-al", self.folder / "saved", self.folder / "warehouse"], check=True)
        shutil.copy(self.folder / "saved.db", self.catalog_file)

    def add_strays(self, table, count):
        data = [p for p in (self.folder / "warehouse" / "bench" / table / "data").iterdir() if p.is_dir()]
        long_ago = time.time() - 30 * 86400
        for i in range(count):
            path = data[i % len(data)] / f"stray-{i}.parquet"
            path.write_bytes(bytes(1024))
            os.utime(path, (long_ago, long_ago))

    def frazil(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FRAZIL_")}
        return measured([FRAZIL, *map(str, arguments)], env={**environment, "FRAZIL_HOME": str(self.folder)}, cwd=self.folder)

    def sql(self, statement, *options):
        text, cost = self.frazil("sql", "-q", "-o", "jsonl", *options, "-e", statement)
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")], cost

    def metadata_location(self, table):
        import sqlite3
        with sqlite3.connect(self.catalog_file) as connection:
            return connection.execute("SELECT metadata_location FROM iceberg_tables WHERE table_name = ?",
                                      (table.split(".")[1],)).fetchone()[0].removeprefix("file://")

    def digest(self, table):
        """Of every row, with its lineage where the table has it."""
        lineage = ", _row_id, _last_updated_sequence_number" if table == "t3" else ""
        rows = self.sql(f"SELECT {ROWS}, {HASH.format(lineage=lineage)}{LINEAGE if lineage else ''} FROM bench.{table}")[0]
        return as_text(rows[0])

    def files(self, table):
        rows = self.sql(f"SELECT count(*) AS files, sum(record_count) AS records, sum(file_size_in_bytes) AS bytes FROM bench.{table}.data_files")
        return {key: int(value) for key, value in rows[0][0].items()}


def call_of(case, is_frazil):
    table = f"table => 'bench.{TABLES[case]}'"
    if case == "expire":
        return f"CALL lake.system.expire_snapshots({table}, older_than => TIMESTAMP '2099-01-01 00:00:00', retain_last => 1)"
    if case == "orphans":
        week_ago = time.strftime("%Y-%m-%d 00:00:00", time.gmtime(time.time() - 7 * 86400))
        ratio = ", max_orphan_ratio => '1000'" if is_frazil else ""  # Spark removes any number
        return f"CALL lake.system.remove_orphan_files({table}, older_than => TIMESTAMP '{week_ago}'{ratio})"
    extra = ", strategy => 'sort', sort_order => 'key ASC NULLS LAST'" if case == "sort" else ""
    return f"CALL lake.system.rewrite_data_files({table}{extra}, options => map({OPTIONS}))"


SPARK = """
import json, os, sys
sys.path.insert(0, {support!r})
import pathlib, types
import engines
session = engines.spark_session(pathlib.Path({folder!r}), memory={memory!r})
home = types.SimpleNamespace(catalog="lake", catalog_file={catalog_file!r}, warehouse={warehouse!r})
spark = engines.Spark(home, session)
jvm = session.sparkContext._jvm
process = pathlib.Path("/proc") / str(jvm.java.lang.ProcessHandle.current().pid())
def cpu():
    fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
def peak():
    status = (process / "status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
result = {{}}
if {call!r}:
    before = cpu()
    rows = session.sql({call!r}).collect()
    result = {{"call_cpu_s": cpu() - before, "cpu_s": cpu(), "peak_mb": peak(), "rows": len(rows), "row": rows[0].asDict() if rows else {{}}}}
result["digest"] = session.sql({digest!r}).collect()[0].asDict()
print("RESULT " + json.dumps(result, default=str))
session.stop()
"""


def spark(lake, case, memory, call):
    """One Spark process: the call, if any, then its digest of the table."""
    table = TABLES[case]
    digest = f"SELECT {ROWS}{LINEAGE if table == 't3' else ''} FROM lake.bench.{table}"
    script = SPARK.format(support=str(SUPPORT), folder=str(lake.folder), catalog_file=str(lake.catalog_file), memory=memory,
                          warehouse=lake.warehouse, call=call, digest=digest)
    text, cost = measured([sys.executable, "-c", script])
    found = json.loads(next(line for line in text.splitlines() if line.startswith("RESULT "))[7:])
    found["wall_s"] = cost["wall_s"]
    return found


def check(who, digest, expected):
    """`digest` may have fewer columns than frazil's."""
    digest = as_text(digest)
    wrong = {key: (value, expected[key]) for key, value in digest.items() if expected[key] != value}
    if wrong:
        sys.exit(f"{who} (found, expected): {wrong}")


def duckdb_digest(lake, table):
    import engines
    connection = engines.duckdb_with_iceberg()
    cursor = connection.execute(f"SELECT {ROWS} FROM iceberg_scan('{lake.metadata_location(f'bench.{table}')}')")
    return dict(zip([column[0] for column in cursor.description], cursor.fetchone()))


def run_case(lake, case, options, with_spark):
    table = TABLES[case]
    limit = options.equality_memory_limit if case == "equality" else options.memory_limit
    lake.restore()
    found = {"before": lake.files(table), "goal": GOALS[case], "frazil_memory": limit, "spark_memory": options.spark_memory}
    strays = 12 * found["before"]["files"]
    expected = lake.digest(table)
    if case == "orphans":
        lake.add_strays(table, strays)
    rows, cost = lake.sql(call_of(case, True), "--memory-limit", limit)
    found["frazil"] = {**cost, "call_cpu_s": cost["cpu_s"], "rows": len(rows), "row": rows[0] if rows else {}}
    found["after"] = lake.files(table)
    check(f"{case}: rows changed", lake.digest(table), expected)
    check(f"{case}: DuckDB reads other rows", duckdb_digest(lake, table), expected)
    if with_spark:
        check(f"{case}: Spark reads other rows", spark(lake, case, options.spark_memory, "")["digest"], expected)
        lake.restore()
        if case == "orphans":
            lake.add_strays(table, strays)
        found["spark"] = spark(lake, case, options.spark_memory, call_of(case, False))
        found["after_spark"] = lake.files(table)
        check(f"{case}: Spark's own work changed rows", found["spark"].pop("digest"), expected)
        found["ratio_call_only"] = found["spark"]["call_cpu_s"] / found["frazil"]["cpu_s"]
        found["ratio"] = found["spark"]["cpu_s"] / found["frazil"]["cpu_s"]
    return found


def show(case, found):
    before = found["before"]
    print(f"\n{case} of bench.{TABLES[case]}: {before['files']:,} files, {before['bytes'] / 1e6:,.1f} MB, {before['records']:,} rows")
    print(f"{'':<8}{'memory':>9}{'wall s':>9}{'CPU s':>9}{'call only':>11}{'peak MB':>9}{'MB in / CPU s':>15}  result")
    for name in ("frazil", "spark"):
        if name in found:
            f = found[name]
            result = {"rows": f["rows"]} if case == "orphans" else f["row"]
            print(f"{name:<8}{found[name + '_memory']:>9}{f['wall_s']:>9.1f}{f['cpu_s']:>9.2f}{f['call_cpu_s']:>11.2f}{f['peak_mb']:>9.0f}"
                  f"{before['bytes'] / 1e6 / f['call_cpu_s']:>15.1f}  {' '.join(str(v) for v in result.values())}")
    if "ratio" in found:
        print(f"Spark needs {found['ratio_call_only']:.1f} times the CPU (its start not counted; goal {found['goal']}), "
              f"{found['ratio']:.1f} times with it")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--cases", default=",".join(TABLES))
    parser.add_argument("--memory-limit", default="1GiB", help="of frazil")
    parser.add_argument("--equality-memory-limit", default="256MiB", help="of frazil, in that case")
    parser.add_argument("--spark-memory", default="4g")
    parser.add_argument("--dir", type=pathlib.Path, help="where the tables lie; default: a temporary folder")
    parser.add_argument("--skip-spark", action="store_true")
    options = parser.parse_args()
    cases = options.cases.split(",")
    with_spark = not options.skip_spark and bool(os.environ.get("FRAZIL_SPARK_JAR"))

    if not os.environ.get("FRAZIL_BENCH_NO_BUILD"):
        subprocess.run(["cmake", "--build", BUILD, "--target", "rewrite_tables_bench"], check=True, stdout=subprocess.DEVNULL)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="frazil-rewrite-", dir=options.dir))
    try:
        lake = Lake(folder)
        tables = {TABLES[case] for case in cases}
        print(f"making {' and '.join(sorted(tables))}: {options.rows:,} rows, {options.commits} commits", flush=True)
        if "t3" in tables:
            lake.fill("vectors", options.rows, options.commits, 1)
        if "t2" in tables:
            lake.fill("equality", options.rows // 2, options.commits, options.rows // 4)
        lake.save()
        figures = {"rows": options.rows, "commits": options.commits}
        for case in cases:
            figures[case] = run_case(lake, case, options, with_spark)
            show(case, figures[case])
            sys.stdout.flush()
        print(json.dumps(figures))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

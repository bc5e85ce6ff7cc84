"""rewrite_data_files beside Spark's, on the same files in the same run.

    ./dev bench rewrite [--rows N] [--commits N] [--delete-percent P] [--memory-limit SIZE] [--dir DIR] [--skip-spark] [--sort]

Makes a v3 table bucket(4, key) of N rows in `commits` commits (20-character key, two longs, a double, about 55 bytes of
text), each of which deletes P % of the live rows by deletion vectors; the paper's size is --rows 20000000 --commits 100.
Then each contender rewrites it from the same state: the catalog is put back in between, data files are never removed.

CPU seconds and peak memory of frazil are those of the whole process; Spark's are given with and without its start. The
rows, their ids and sequence numbers are compared afterwards. A table, then the JSON of all figures as the last line.
Spark is left out where FRAZIL_SPARK_JAR is not set.
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
FRAZIL = os.environ["FRAZIL_BIN"]
TABLE = "bench.t3"
OPTIONS = ("'min-input-files', '2', 'target-file-size-bytes', '134217728', 'delete-file-threshold', '1', "
           "'max-concurrent-file-group-rewrites', '2'")
DIGEST = ("count(*) AS rows, sum({row_id}) AS row_ids, sum({changed}) AS changed, sum(a) AS a, min(key) AS low, max(key) AS high")


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


class Lake:
    def __init__(self, folder):
        self.folder = folder
        self.catalog_file = folder / "catalog.db"
        self.warehouse = f"file://{folder}/warehouse"
        (folder / "frazil.yaml").write_text(f"default-catalog: lake\ncatalogs:\n  lake:\n    type: sql\n    uri: sqlite:///{self.catalog_file}\n"
                                            f"    warehouse: {self.warehouse}\n")

    def frazil(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FRAZIL_")}
        return measured([FRAZIL, *map(str, arguments)], env={**environment, "FRAZIL_HOME": str(self.folder)}, cwd=self.folder)

    def sql(self, statement, *options):
        text, cost = self.frazil("sql", "-q", "-o", "jsonl", *options, "-e", statement)
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")], cost

    def digest(self):
        return self.sql(f"SELECT {DIGEST.format(row_id='_row_id', changed='_last_updated_sequence_number')} FROM {TABLE}")[0][0]

    def save(self):
        shutil.copy(self.catalog_file, self.folder / "saved.db")

    def restore(self):
        shutil.copy(self.folder / "saved.db", self.catalog_file)

    def fill(self, rows, commits, percent):
        self.sql("CREATE NAMESPACE bench")
        self.sql(f"CREATE TABLE {TABLE} (key STRING NOT NULL, a BIGINT, b BIGINT, d DOUBLE, txt STRING) PARTITIONED BY (bucket(4, key))")
        each = rows // commits
        for commit in range(commits):
            first = commit * each
            words = " || ' ' || ".join(f"substr(md5((i * 7 + {w})::VARCHAR), 1, 5)" for w in range(9))
            self.sql(f"INSERT INTO {TABLE} SELECT 'k' || substr(md5(i::VARCHAR), 1, 12) || lpad((i % 10000000)::VARCHAR, 7, '0'), i, "
                     f"hash(i)::UBIGINT::HUGEINT % 9223372036854775807, (hash(i + 1) % 1000000)::DOUBLE / 7, {words} "
                     f"FROM range({first}, {first + each}) t(i)")
            self.sql(f"DELETE FROM {TABLE} WHERE a % 1000 = {commit * 389 % 1000}" if percent * commits <= 0 else
                     f"DELETE FROM {TABLE} WHERE (a * 2654435761 + {commit} * 40503) % 1000 < {int(percent * 10)}")


def rewrite_call(catalog, sort):
    extra = ", strategy => 'sort', sort_order => 'key ASC NULLS LAST'" if sort else ""
    return f"CALL {catalog}.system.rewrite_data_files(table => '{TABLE}'{extra}, options => map({OPTIONS}))"


SPARK = """
import json, sys
sys.path.insert(0, {support!r})
import pathlib, types
import engines
session = engines.spark_session(pathlib.Path({folder!r}))
home = types.SimpleNamespace(catalog="lake", catalog_file={catalog_file!r}, warehouse={warehouse!r})
spark = engines.Spark(home, session)
jvm = session.sparkContext._jvm
def cpu():
    bean = jvm.java.lang.management.ManagementFactory.getOperatingSystemMXBean()
    return bean.getProcessCpuTime() / 1e9
pid = jvm.java.lang.ProcessHandle.current().pid()
before = cpu()
row = session.sql({call!r}).collect()[0].asDict()
call_cpu = cpu() - before
status = pathlib.Path(f"/proc/{{pid}}/status").read_text()
peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
total = cpu()
digest = session.sql({digest!r}).collect()[0].asDict()
print("RESULT " + json.dumps({{"row": row, "call_cpu_s": call_cpu, "cpu_s": total, "peak_mb": peak, "digest": digest}}, default=str))
session.stop()
"""


def spark_rewrite(lake, sort):
    digest = f"SELECT {DIGEST.format(row_id='_row_id', changed='_last_updated_sequence_number')} FROM lake.{TABLE}"
    script = SPARK.format(support=str(ROOT / "tests" / "support"), folder=str(lake.folder), catalog_file=str(lake.catalog_file),
                          warehouse=lake.warehouse, call=rewrite_call("lake", sort), digest=digest)
    text, cost = measured([sys.executable, "-c", script])
    found = json.loads(next(line for line in text.splitlines() if line.startswith("RESULT "))[7:])
    return found["row"], {**cost, "cpu_s": found["cpu_s"], "call_cpu_s": found["call_cpu_s"], "peak_mb": found["peak_mb"]}, found["digest"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--delete-percent", type=float, default=1)
    parser.add_argument("--memory-limit", help="of frazil, e.g. 256MiB")
    parser.add_argument("--dir", type=pathlib.Path, help="where the table lies; default: a temporary folder")
    parser.add_argument("--skip-spark", action="store_true")
    parser.add_argument("--sort", action="store_true", help="sort by key instead of bin-packing")
    options = parser.parse_args()

    folder = pathlib.Path(tempfile.mkdtemp(prefix="frazil-rewrite-", dir=options.dir))
    try:
        lake = Lake(folder)
        print(f"filling {TABLE}: {options.rows:,} rows in {options.commits} commits")
        lake.fill(options.rows, options.commits, options.delete_percent)
        files = lake.sql(f"SELECT count(*) AS files, sum(record_count) AS rows, sum(file_size_in_bytes) AS bytes FROM {TABLE}.data_files")[0][0]
        files = {key: int(value) for key, value in files.items()}
        before = {key: str(value) for key, value in lake.digest().items()}
        lake.save()
        print(f"{files['files']:,} files, {files['bytes'] / 1e6:,.1f} MB, {files['rows']:,} rows, {int(before['rows']):,} of them live")

        figures = {"rows": options.rows, "commits": options.commits, "sort": options.sort, **files, "live_rows": int(before["rows"])}
        limit = ["--memory-limit", options.memory_limit] if options.memory_limit else []
        row, cost = lake.sql(rewrite_call("lake", options.sort), *limit)
        figures["frazil"] = {**cost, **row[0]}
        assert {key: str(value) for key, value in lake.digest().items()} == before, "frazil changed rows"
        if not options.skip_spark and os.environ.get("FRAZIL_SPARK_JAR"):
            lake.restore()
            row, cost, digest = spark_rewrite(lake, options.sort)
            figures["spark"] = {**cost, **row}
            assert {key: str(value) for key, value in digest.items()} == before, "Spark changed rows"

        print(f"\n{'':<8}{'wall s':>9}{'CPU s':>9}{'call only':>11}{'peak MB':>9}{'files out':>11}{'MB in / CPU s':>15}")
        for name in ("frazil", "spark"):
            if name in figures:
                f = figures[name]
                call = f.get("call_cpu_s", f["cpu_s"])
                print(f"{name:<8}{f['wall_s']:>9.1f}{f['cpu_s']:>9.1f}{call:>11.1f}{f['peak_mb']:>9.0f}"
                      f"{f['added_data_files_count']:>11}{files['bytes'] / 1e6 / call:>15.1f}")
        if "spark" in figures:
            figures["cpu_ratio_call_only"] = figures["spark"]["call_cpu_s"] / figures["frazil"]["cpu_s"]
            figures["cpu_ratio"] = figures["spark"]["cpu_s"] / figures["frazil"]["cpu_s"]
            print(f"\nSpark needs {figures['cpu_ratio_call_only']:.1f} times the CPU (its start not counted), "
                  f"{figures['cpu_ratio']:.1f} times with it")
        print(json.dumps(figures))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

"""Scans of a table that took its upserts in 1, 100 and 1,000 commits, beside its data files without vectors and other engines.

    ./dev bench scan [--rows 2000000] [--upserts 200000] [--commits 1,100,1000] [--runs 5] [--skip-spark]

A v3 table of N rows (id, group, two numbers, about 50 bytes of text) gets the same U upserts of random keys by `frazil ingest`,
in so many commits; the one of most commits is then compacted as well. All of them hold the same rows, so one aggregate over
every row must give everybody the same answer:

  table        frazil on the table: vectors are applied
  data files   frazil on the same data files as plain Parquet: what is left when vectors are not looked at (its rows differ)
  DuckDB       DuckDB's own Iceberg extension
  Spark        Spark with Iceberg (left out where FRAZIL_SPARK_JAR is not set)

cold: a new process, the table's files thrown out of the page cache. new: a new process, files in the page cache. again: the
query once more in the same process (median). Wall and CPU seconds (all threads; a process' start counts in cold and new, for
Spark only the query does). The JSON of all figures is the last line.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

from rewrite import ROOT, Lake, measured

REPEATS = 10
TABLE = "bench.t{}"
QUERY = "SELECT count(*) AS n, sum(grp) AS g, sum(a) AS a, sum(length(txt)) AS t, max(d) AS d FROM {}"


def fill(lake, rows, upserts, commits, seed):
    name = TABLE.format(commits)
    lake.sql("CREATE NAMESPACE IF NOT EXISTS bench")
    words = " || ' ' || ".join(f"substr(md5((i * 7 + {w})::VARCHAR), 1, 6)" for w in range(7))
    lake.sql(f"CREATE TABLE {name} (id BIGINT NOT NULL, grp INT, a BIGINT, d DOUBLE, txt STRING)")
    lake.sql(f"ALTER TABLE {name} SET IDENTIFIER FIELDS id")
    files = 8
    for part in range(files):
        lake.sql(f"INSERT INTO {name} SELECT i, i % 97, hash(i) % 1000000000, (hash(i + 1) % 1000000)::DOUBLE / 8, {words} "
                 f"FROM range({part * rows // files}, {(part + 1) * rows // files}) t(i)")
    draw = random.Random(seed)
    path = lake.folder / "upserts.jsonl"
    with path.open("w") as out:
        for number in range(upserts):
            key = draw.randrange(rows)
            out.write(f'{{"key":{{"id":{key}}},"value":{{"grp":{number % 89},"a":{number},"d":{number % 1000}.5,"txt":"changed by upsert {number}"}}}}\n')
    return lake.frazil("ingest", "--from", path, "--format", "json-kv", "--table", name, "--identifier-fields", "id", "--progress", "off",
                       "--commit-every", max(1, upserts // commits))[1]


def files_of(lake, name):
    rows, _ = lake.sql(f"SELECT content, file_path, file_size_in_bytes AS size FROM {name}.files")
    data = [row["file_path"].removeprefix("file://") for row in rows if row["content"] == 0]
    return data, {"data_files": len(data), "vectors": len(rows) - len(data), "mb": round(sum(r["size"] for r in rows if r["content"] == 0) / 1e6, 1)}


def forget(folder):
    """Throws what is under the folder out of the page cache: it has been written back before."""
    subprocess.run(["sync", "-f", folder], check=True)
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def median(costs):
    return {key: round(statistics.median(cost[key] for cost in costs), 4) for key in ("wall_s", "cpu_s")}


def scan_with_frazil(lake, source, runs):
    script = lake.folder / "query.sql"  # a list of a thousand files is too long for a command line

    def run(times, form):
        script.write_text((QUERY.format(source) + ";\n") * times)
        return lake.frazil("sql", "-q", "-o", form, "-f", script)

    forget(lake.folder)
    text, cold = run(1, "jsonl")
    new = [run(1, "none")[1] for _ in range(runs)]
    many = [run(1 + REPEATS, "none")[1] for _ in range(runs)]
    first, all_of_them = median(new), median(many)
    again = {key: round((all_of_them[key] - first[key]) / REPEATS, 4) for key in first}
    return json.loads(text), {"cold": median([cold]), "new": first, "again": again}


DUCKDB = """
import glob, json, sys, sysconfig, time
import duckdb
connection = duckdb.connect(config={{"allow_unsigned_extensions": "true", "threads": {threads}}})
for extension in ("avro", "iceberg"):
    connection.execute("LOAD '" + glob.glob(sysconfig.get_paths()["purelib"] + f"/**/{{extension}}.duckdb_extension", recursive=True)[0] + "'")
costs = []
for _ in range({times}):
    wall, cpu = time.perf_counter(), time.process_time()
    answer = connection.execute({query!r}).fetchone()
    costs.append((time.perf_counter() - wall, time.process_time() - cpu))
print("RESULT " + json.dumps([answer, costs]))
"""


def scan_with_duckdb(lake, location, runs):
    def run(times):
        query = QUERY.format(f"iceberg_scan('{location}')")
        text, cost = measured([sys.executable, "-c", DUCKDB.format(threads=os.cpu_count(), times=times, query=query)])
        return json.loads(next(line for line in text.splitlines() if line.startswith("RESULT "))[7:]), cost
    forget(lake.folder)
    (answer, _), cold = run(1)
    new = [run(1)[1] for _ in range(runs)]
    (_, costs), _ = run(1 + runs)
    again = [{"wall_s": wall, "cpu_s": cpu} for wall, cpu in costs[1:]]
    return dict(zip("ngatd", answer)), {"cold": median([cold]), "new": median(new), "again": median(again)}


SPARK = """
import json, os, pathlib, sys, time, types
sys.path.insert(0, {support!r})
import engines
session = engines.spark_session(pathlib.Path({folder!r}))
home = types.SimpleNamespace(catalog="lake", catalog_file={catalog_file!r}, warehouse={warehouse!r})
spark = engines.Spark(home, session)
pid = session.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
def cpu_seconds():
    fields = pathlib.Path(f"/proc/{{pid}}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
session.sql("SELECT 1").collect()
found = {{}}
for name in {tables!r}:
    costs = []
    for _ in range({times}):
        wall, cpu = time.perf_counter(), cpu_seconds()
        row = session.sql({query!r}.replace("TABLE", "lake." + name)).collect()[0].asDict()
        costs.append((time.perf_counter() - wall, cpu_seconds() - cpu))
    found[name] = [row, costs]
print("RESULT " + json.dumps(found, default=str))
session.stop()
"""


def scan_with_spark(lake, tables, runs):
    """Nothing is thrown out of the page cache between tables of one session: `new` is the first query on a table."""
    script = SPARK.format(support=str(ROOT / "tests" / "support"), folder=str(lake.folder / "spark"), catalog_file=str(lake.catalog_file),
                          warehouse=lake.warehouse, tables=tables, query=QUERY.format("TABLE"), times=2 + runs)
    (lake.folder / "spark").mkdir()
    text, _ = measured([sys.executable, "-c", script])
    found = json.loads(next(line for line in text.splitlines() if line.startswith("RESULT "))[7:])
    costs = {name: [{"wall_s": w, "cpu_s": c} for w, c in costs] for name, (_, costs) in found.items()}
    return {name: (found[name][0], {"new": median(costs[name][:1]), "again": median(costs[name][2:])}) for name in found}


def same(answer):
    return {key: float(value) for key, value in answer.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--upserts", type=int, default=200_000)
    parser.add_argument("--commits", default="1,100,1000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", help="where the table lies; default: a temporary folder")
    parser.add_argument("--skip-spark", action="store_true")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="frazil-bench-scan-", dir=options.dir))
    try:
        lake = Lake(folder)
        figures = {"rows": options.rows, "upserts": options.upserts, "tables": {}}
        tables = {}
        for commits in map(int, options.commits.split(",")):
            cost = fill(lake, options.rows, options.upserts, commits, options.seed)
            tables[f"{commits} commits"] = TABLE.format(commits)
            print(f"made by {commits} commits of {options.upserts // commits} upserts: {cost['wall_s']:.1f} s", flush=True)
        most = list(tables.values())[-1]
        lake.sql(f"CALL system.register_table(table => 'bench.compacted', metadata_file => "
                 f"(SELECT file FROM {most}.metadata_log_entries ORDER BY timestamp DESC, latest_sequence_number DESC LIMIT 1))")
        lake.sql("CALL system.rewrite_data_files(table => 'bench.compacted', options => map('rewrite-all', 'true'))")
        tables["compacted"] = "bench.compacted"

        by_spark = {}
        if not options.skip_spark and os.environ.get("FRAZIL_SPARK_JAR"):
            by_spark = scan_with_spark(lake, list(tables.values()), options.runs)
        expected = None
        print(f"\n{'':<14}{'':<12}{'cold wall':>10}{'cpu':>7}{'new wall':>10}{'cpu':>7}{'again wall':>12}{'cpu':>8}   seconds")
        for label, name in tables.items():
            data, layout = files_of(lake, name)
            location = lake.sql(f"SELECT file FROM {name}.metadata_log_entries ORDER BY timestamp DESC, latest_sequence_number DESC LIMIT 1")[0][0]["file"]
            answers, costs = {}, {}
            answers["table"], costs["table"] = scan_with_frazil(lake, name, options.runs)
            plain = "read_parquet([" + ", ".join(f"'{file}'" for file in data) + "])"
            _, costs["data files"] = scan_with_frazil(lake, plain, options.runs)
            answers["DuckDB"], costs["DuckDB"] = scan_with_duckdb(lake, location, options.runs)
            if name in by_spark:
                answers["Spark"], costs["Spark"] = by_spark[name]
            expected = expected or same(answers["table"])
            for who, answer in answers.items():
                if same(answer) != expected:
                    assert who == "DuckDB", f"{who} on {label}: {answer}, expected {expected}"
                    costs[who]["reads_other_rows"] = True
                    print(f"{who} reads other rows of the table of {label}: {answer}, expected {expected}")
            figures["tables"][label] = {**layout, **costs}
            print(f"{label}: {layout['data_files']} data files, {layout['vectors']} vectors, {layout['mb']} MB")
            for who, cost in costs.items():
                cells = [cost.get(kind, {}).get(key) for kind in ("cold", "new", "again") for key in ("wall_s", "cpu_s")]
                print(f"{'':<14}{who:<12}" + "".join(f"{'' if cell is None else format(cell, '.3f'):>{width}}" for cell, width in zip(cells, (10, 7, 10, 7, 12, 8))),
                      flush=True)
        scans = figures["tables"]
        compacted = scans["compacted"]["table"]
        for label, scan in scans.items():
            for kind in ("new", "again"):
                scan[f"{kind}_over_data_files"] = round(scan["table"][kind]["cpu_s"] / scan["data files"][kind]["cpu_s"], 2)
                scan[f"{kind}_over_compacted"] = round(scan["table"][kind]["wall_s"] / compacted[kind]["wall_s"], 2)
            print(f"{label}: CPU over its data files without vectors {scan['new_over_data_files']} (new), {scan['again_over_data_files']} (again); "
                  f"wall over the compacted table {scan['new_over_compacted']} (new), {scan['again_over_compacted']} (again)")
        print(json.dumps(figures))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

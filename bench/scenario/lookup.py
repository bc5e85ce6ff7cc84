"""Point look-ups beside DuckDB's scan of the same files for one key.

    ./dev bench lookup [--rows 10000000]

Builds and runs the micro benchmark point_lookup: a table of 20 zstd files, one random key after the other, all columns,
everything warm; one reader and 64 readers; pages of 20,000 rows (the default) and of 1,000. The JSON of all figures is the
last line.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[2]


def key_of_row(i):
    """As bench/micro/point_lookup.cc makes them."""
    return f"user-{(i * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 4:015x}"


def scan_with_duckdb(folder, rows):
    """Median ms of DuckDB's scan of all data files for one key, on all cores."""
    database = duckdb.connect()
    timings = []
    for i in [random.randrange(rows) for _ in range(9)]:
        start = time.perf_counter()
        found = database.execute(f"SELECT * FROM read_parquet('{folder}/db/t/data/*.parquet') WHERE k = ?",
                                 [key_of_row(i)]).fetchall()
        timings.append(1000 * (time.perf_counter() - start))
        assert [row[1] for row in found] == [i]
    return statistics.median(timings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    build = ROOT / "build" / "release"
    if "FRAZIL_POINT_LOOKUP_BENCH" not in os.environ:
        subprocess.run(["cmake", "--build", build, "--target", "point_lookup_bench"], check=True,
                       stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        program = os.environ.get("FRAZIL_POINT_LOOKUP_BENCH", build / "bench" / "point_lookup_bench")
        subprocess.run([program, f"--benchmark_out={out}"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "FRAZIL_BENCH_ROWS": str(rows), "FRAZIL_BENCH_FOLDER": folder})
        measured = json.loads(out.read_text())["benchmarks"]
        scan_ms = scan_with_duckdb(f"{folder}/20000", rows)
        sizes = {pages: sum(file.stat().st_size for file in pathlib.Path(folder, pages).rglob("*.parquet"))
                 for pages in ("20000", "1000")}
    figures = []
    print(f"{rows:,} rows; data files: " +
          ", ".join(f"{size / 1e6:,.0f} MB with pages of {pages} rows" for pages, size in sizes.items()))
    print(f"{'':62} {'p50 ms':>8} {'p99 ms':>8} {'look-ups/s':>11} {'KB read':>8} {'reads':>6}")
    for run in measured:
        a_second = run["threads"] * 1e9 / run["real_time"]  # ns of one iteration of one thread
        figure = {"name": run["name"], "p50_ms": round(run["p50_ms"], 3), "p99_ms": round(run["p99_ms"], 3),
                  "look_ups_per_s": round(a_second), "read_kb": round(run["read_KB"], 1), "reads": round(run["reads"], 2)}
        print(f"{run['name']:62} {figure['p50_ms']:8} {figure['p99_ms']:8} {figure['look_ups_per_s']:11,} "
              f"{figure['read_kb']:8} {figure['reads']:6}")
        figures.append(figure)
    print(f"{'DuckDB scans the files for one key (median)':62} {scan_ms:8.1f}")
    figures.append({"name": "duckdb_scan", "p50_ms": round(scan_ms, 1)})
    print(json.dumps({"rows": rows, "data_bytes": sizes, "figures": figures}))


if __name__ == "__main__":
    main()

"""Numbers of the walking skeleton, each beside a bare baseline of the same run.

    ./dev bench skeleton [--runs N]

1. Ingest of the demo's 1,001,615 flight events on one thread and on all cores: events/s, CPU seconds, peak memory.
2. Scan of the resulting table against the same data files scanned without applying their vectors.
3. Start of `frazil version` and `frazil sql -e 'select 1'`.

Wall times are medians; CPU seconds are of the process and its threads. The JSON of all figures is the last line.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAZIL = os.environ["FRAZIL_BIN"]
COLUMNS_OF_DEMO = ROOT / "examples" / "demo" / "columns.sql"


def run(arguments, home, **options):
    """Runs frazil and returns (stdout, wall seconds, CPU seconds)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run([FRAZIL, *arguments], env={**os.environ, "FRAZIL_HOME": str(home)}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"frazil {' '.join(arguments)} failed: {done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, wall, cpu


def ingest(events, home, threads):
    arguments = ["ingest", "--from", str(events), "--format", "json-kv", "--table", "demo.flights", "--create",
                 "--columns", COLUMNS_OF_DEMO.read_text().strip(), "--identifier-fields", "date,carrier,flight,origin",
                 "--partition-by", "months(time_hour), bucket(4, carrier)", "-q", "-o", "json",
                 "--progress", "off", "--threads", str(threads)]
    out, wall, cpu = run(arguments, home)
    summary = json.loads(out.strip().splitlines()[-1])
    return {"threads": threads, "events": summary["events"], "wall_s": round(wall, 2), "cpu_s": round(cpu, 2),
            "events_per_s": round(summary["events"] / wall), "events_per_cpu_s": round(summary["events"] / cpu),
            "peak_memory_mb": round(summary["peak_memory_bytes"] / 2**20)}


def median_of(runs, arguments, home, **options):
    timings = [run(arguments, home, **options)[1:] for _ in range(runs)]
    return statistics.median(t[0] for t in timings), statistics.median(t[1] for t in timings)


def scan(home, runs):
    """The table, and its data files read by the same engine as plain Parquet: what the vectors cost."""
    out, _, _ = run(["sql", "-o", "json", "-e", "SELECT file_path FROM demo.flights.data_files"], home)
    files = [row["file_path"].removeprefix("file://") for row in json.loads(out)]
    plain = "read_parquet([" + ", ".join(f"'{file}'" for file in files) + "])"
    query = "SELECT count(*), sum(distance), avg(arr_delay), max(tailnum), count(DISTINCT dest) FROM {}"
    result = {"data_files": len(files)}
    for name, source in (("table", "demo.flights"), ("data_files_without_vectors", plain)):
        # The query runs 20 times in one process, so that starting it does not hide the scan.
        script = ";".join([query.format(source)] * 20)
        wall, cpu = median_of(runs, ["sql", "-q", "-o", "none", "-f", "-"], home, input=script)
        empty_wall, empty_cpu = median_of(runs, ["sql", "-q", "-o", "none", "-e", "SELECT 1"], home)
        result[name] = {"wall_ms": round((wall - empty_wall) / 20 * 1000, 2), "cpu_ms": round((cpu - empty_cpu) / 20 * 1000, 2)}
    result["cpu_ratio"] = round(result["table"]["cpu_ms"] / result["data_files_without_vectors"]["cpu_ms"], 3)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="frazil-bench-") as folder:
        events = pathlib.Path(folder) / "flights.jsonl"
        subprocess.run([sys.executable, str(ROOT / "examples" / "demo" / "flights_events.py"), str(events)], check=True,
                       stdout=subprocess.DEVNULL)
        figures = {"ingest": [], "start": {}}
        for threads in sorted({1, os.cpu_count()}):
            home = pathlib.Path(folder) / f"home-{threads}"
            row = ingest(events, home, threads)
            figures["ingest"].append(row)
            print(f"ingest, {threads} thread(s): {row['events_per_s']:,} events/s, {row['events_per_cpu_s']:,} events a CPU second, "
                  f"peak {row['peak_memory_mb']} MB")
        figures["scan"] = scan(home, runs)
        print(f"scan of the table: {figures['scan']['table']['cpu_ms']} ms CPU, of its {figures['scan']['data_files']} data files without "
              f"vectors: {figures['scan']['data_files_without_vectors']['cpu_ms']} ms CPU, ratio {figures['scan']['cpu_ratio']}")
        for name, arguments in (("version", ["version"]), ("sql_select_1", ["sql", "-e", "select 1"])):
            wall, _ = median_of(max(runs, 15), arguments, home)
            figures["start"][name + "_ms"] = round(wall * 1000, 1)
            print(f"start of frazil {' '.join(arguments)}: {wall * 1000:.1f} ms")
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

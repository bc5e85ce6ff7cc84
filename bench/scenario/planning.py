"""Planning a scan of a table with many data files, by the program and within a memory limit.

    ./dev bench planning [--files 100000] [--memory-limit 256MB]

Makes the metadata of a table of so many files (20 columns with metrics, a tenth with a deletion vector; the files themselves are
not there), then asks for the plans of a scan of everything, of one day of a thousand, and of one file by its ids, and for
count(*), which reads no file. Wall and CPU seconds of a process that starts, plans and ends, and its peak
of resident memory. The JSON of all figures is the last line.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUERIES = {
    "start alone": "SELECT 1",
    "everything": "EXPLAIN SELECT sum(c3) FROM demo.t",
    "one day": "EXPLAIN SELECT sum(c3) FROM demo.t WHERE day = DATE '2020-01-01'",
    "one file": "EXPLAIN SELECT sum(c3) FROM demo.t WHERE id = 12345678",
    "count(*)": "SELECT count(*) FROM demo.t",
}


def run(program, home, query, memory_limit):
    """(wall s, CPU s, peak MB, output) of one process."""
    begin = time.perf_counter()
    process = subprocess.Popen([program, "sql", "--memory-limit", memory_limit, "-e", query], stdout=subprocess.PIPE,
                               env={**os.environ, "FRAZIL_HOME": str(home)}, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, query
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--memory-limit", default="256MB")
    arguments = parser.parse_args()
    program = pathlib.Path(os.environ.get("FRAZIL_BIN", ROOT / "build/release/bin/frazil"))
    build = ROOT / "build" / "release"
    subprocess.run(["cmake", "--build", build, "--target", "planning_table_bench"], check=True, stdout=subprocess.DEVNULL)
    figures = {"files": arguments.files, "memory_limit": arguments.memory_limit}
    with tempfile.TemporaryDirectory(prefix="frazil-bench-") as home:
        subprocess.run([build / "bench" / "planning_table_bench", home, str(arguments.files)], check=True)
        metadata = sum(file.stat().st_size for file in pathlib.Path(home).rglob("*.avro"))
        figures["manifest_mb"] = round(metadata / 1e6, 1)
        print(f"{arguments.files:,} data files, {figures['manifest_mb']} MB of manifests, memory limit {arguments.memory_limit}")
        for name, query in QUERIES.items():
            wall, cpu, peak, out = run(program, home, query, arguments.memory_limit)
            figures[name] = {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2), "peak_mb": round(peak)}
            print(f"{name:12} {wall:6.2f} s wall  {cpu:6.2f} s CPU  {peak:6.0f} MB peak")
            if name == "count(*)":
                rows = arguments.files * 100_000 - (arguments.files + 9) // 10 * 1000
                assert str(rows) in out.replace(",", ""), out
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

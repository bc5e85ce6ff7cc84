"""Numbers of the key index's runs, beside RocksDB in the same run.

    ./dev bench index [--keys N] [--dir DIR] [--only SECTION,...]

1. Sizes and rates of building: entries sorted into runs of 16 shards in bounded memory, then merged (bytes a key, without
   and with stored row ids).
2. Look-ups in sorted batches, 10 % of them misses, keys uniform and Zipf, against 1, 4 and 8 runs of like size.
3. The same from files: cold (nothing in the page cache), then warm, and with less memory than the runs need (a cgroup).
4. RocksDB: 12-byte hash as key, 8-byte value, loaded from sorted files; one set of settings for all sections.
5. The whole index as ingest uses it (bench/micro/key_index.cc): built from files of others (20 million keys at most); a foreign
   commit of a million rows into all keys.
6. Upserts, 90 % updates, in batches of a million with look-up, deletion vectors, follow, checkpoints and merges: two rounds over
   all keys on disk, row ids stored and derived; 20 batches over half of the keys in memory, and on disk with a memory limit of
   an eighth of the runs' size. own_MB: memory of the process without mapped files, what the benchmark itself holds included.

Needs about 100 bytes of disk and 110 bytes of memory a key. A table, then the JSON of all figures as the last line. CPU
seconds are of the measuring thread; of the whole process for upserts. RocksDB is left out where it is not installed
(`./dev setup develop`), the cgroup where none can be made.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["FRAZIL_BIN"]).resolve().parents[1]
PROGRAM = BUILD / "bench" / "index_runs_bench"
WHOLE_PROGRAM = BUILD / "bench" / "key_index_bench"
CGROUPS = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")  # versions 1 and 2


class MemoryLimit:
    """A cgroup of this machine with so many bytes, page cache included; `prepare` moves the calling process into it."""

    def __init__(self, size):
        self.path = None
        for root in CGROUPS:
            version_1 = root.name == "memory"
            path = root / "frazil-bench-index"
            try:
                path.mkdir(exist_ok=True)
                (path / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text(str(size))
                self.path = path
                return
            except OSError:
                if path.exists():
                    path.rmdir()

    def prepare(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        self.path.rmdir()


def run(section, arguments, limit=None):
    command = [PROGRAM, section]
    for name, value in arguments.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, preexec_fn=limit.prepare if limit else None)
    if done.returncode != 0:
        sys.exit(f"{section} failed with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


WHOLE_FIGURES = {"build_M/s", "build_M/cpu_s", "follow_M/s", "longest_ms", "load_M/s", "look_up_M/s", "merges_M/s", "all_M/s", "runs",
                 "entries_a_key", "bytes_a_key", "own_MB", "limit_MB", "reserved_MB"}


def run_whole(title, name, keys, folder, limit=None, settings=None):
    """Prints and returns one benchmark of key_index.cc, in a process of its own; `settings` of it by name of the variable."""
    environment = {"KEYS": keys, "FOLDER": folder} | (settings or {})
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([WHOLE_PROGRAM, f"--benchmark_out={out.name}", f"--benchmark_filter={name}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit.prepare if limit else None,
                              env=os.environ | {f"FRAZIL_BENCH_{variable}": str(value) for variable, value in environment.items()})
        if done.returncode != 0:
            sys.exit(f"{name} failed with {done.returncode}: {done.stderr}")
        row, = json.load(out)["benchmarks"]
    if row.get("error_occurred"):
        sys.exit(f"{name}: {row['error_message']}")
    figures = {"keys": keys} | {name: round(value, 3) for name, value in row.items() if name in WHOLE_FIGURES}
    print(f"whole index, {keys:,} keys, {title}: " + ", ".join(f"{name} {value:g}" for name, value in figures.items() if name != "keys"))
    return figures


def millions(value):
    return f"{value / 1e6:.2f} M"


def print_look_ups(rows):
    for row in rows:
        line = (f"  {row['runs']} run(s), batch {row['batch']:>9,}, {row['spread']:<7} {row['memory']:<10} {row['label']:<12}"
                f"{millions(row['per_cpu_s']):>8} a CPU s {millions(row['per_s']):>8}/s")
        if row["store_bytes_per_key"]:
            line += f", {row['store_bytes_per_key']:,} bytes read a key"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=100_000_000)
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="where runs are written, on the disk to measure")
    parser.add_argument("--only", default="build,look-up,disk,limit,rocksdb,whole,upsert")
    options = parser.parse_args()
    sections = options.only.split(",")
    subprocess.run(["cmake", "--build", BUILD, "--target", "index_runs_bench", "key_index_bench"], check=True, stdout=subprocess.DEVNULL)

    figures = {"keys": options.keys, "load": os.getloadavg()[0]}
    folder = pathlib.Path(tempfile.mkdtemp(prefix="frazil-bench-index-", dir=options.dir))
    try:
        common = {"keys": options.keys, "dir": folder}
        if "build" in sections:
            figures["build"] = []
            for keys in sorted({options.keys // 2, options.keys}):
                for row_ids in (0, 1):
                    row = run("build", common | {"keys": keys, "row_ids": row_ids})[0]
                    figures["build"].append(row)
                    print(f"build of {keys:,} keys{', row ids stored' if row_ids else ''}: {row['bytes_per_key']} bytes a key; sorted and "
                          f"written {millions(row['sort_and_write_per_cpu_s'])}, merged from {row['merge_runs']} "
                          f"{millions(row['merge_per_cpu_s'])} entries a CPU s; peak {row['peak_memory_mb']} MB")
        if "look-up" in sections:
            figures["look_up"] = run("look-up", {"keys": options.keys, "runs": "1,4,8,16"})
            print("look-ups, runs in memory:")
            print_look_ups(figures["look_up"])
        if "disk" in sections or "limit" in sections:
            run("write", common | {"runs": "1,4"})
            size = options.keys * 17.4
        if "disk" in sections:
            figures["disk"] = run("cold", common | {"runs": "1,4", "batches": "1000,10000,1000000", "look_ups": 500_000, "label": "all memory"})
            print("look-ups, runs in files; cold ones are bound by the store, the others by the processor:")
            print_look_ups(figures["disk"])
        if "limit" in sections:
            figures["limit"] = []
            for label, part in (("1.5 x runs", 1.5), ("0.5 x runs", 0.5), ("0.1 x runs", 0.1)):
                limit = MemoryLimit(int(size * part) + (64 << 20))
                if limit.path is None:
                    print("no cgroup can be made here: nothing measured with little memory")
                    break
                figures["limit"] += run("cold", common | {"runs": "1", "batches": "10000", "look_ups": 500_000, "label": label}, limit)
                limit.remove()
            print("look-ups, runs in files, memory and page cache limited:")
            print_look_ups(figures["limit"])
        for path in folder.iterdir():
            path.unlink()
        if "rocksdb" in sections:
            if "rocksdb" not in subprocess.run([PROGRAM], stderr=subprocess.PIPE, text=True).stderr.split():
                print("RocksDB is not installed: no comparison")
            else:
                figures["rocksdb"] = run("rocksdb", common)
                for row in figures["rocksdb"]:
                    rate = row.get("per_cpu_s", row.get("write_per_cpu_s"))
                    print(f"{row['section']}: {millions(rate)} a CPU s" +
                          (f", batch {row['batch']:,}" if "batch" in row else "") +
                          (f", {row['bytes_per_key']} bytes a key" if "bytes_per_key" in row else ""))
        if "whole" in sections:
            figures["whole"] = {}
            for title, name, keys in (("built from files of others", "BulkBuild", min(options.keys, 20_000_000)),
                                      ("a foreign commit of a million rows", "ForeignCommit", options.keys)):
                figures["whole"][name] = run_whole(title, name, keys, folder)
        if "upsert" in sections:
            figures["upsert"] = {}
            batch = min(1_000_000, options.keys // 10)
            half = max(options.keys // 2, 1_000_000)
            # Of a limited index: its budget, the benchmark's own vectors and batches, some page cache.
            limit = MemoryLimit(half * 20 // 8 + half * 4 + (640 << 20))
            if limit.path is None:
                print("no cgroup can be made here: the limited index has all the page cache it wants")
            try:
                for title, name, keys, batches, how in (
                        ("two rounds of upserts on disk", "Upserts/on_disk:1/row_ids:1", options.keys, 2 * options.keys // batch, None),
                        ("the same, no row ids stored", "Upserts/on_disk:1/row_ids:0", options.keys, 2 * options.keys // batch, None),
                        ("upserts in memory", "Upserts/on_disk:0/row_ids:1", half, 20, None),
                        ("upserts on disk, limited", "Upserts/on_disk:2/row_ids:1", half, 20, limit if limit.path else None)):
                    figures["upsert"][title] = run_whole(title, name, keys, folder, how, {"BATCH": batch, "BATCHES": batches})
            finally:
                if limit.path is not None:
                    limit.remove()
        print(json.dumps(figures))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

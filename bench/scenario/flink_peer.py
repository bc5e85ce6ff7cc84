"""Flink's upsert sink beside `./dev bench ingest`: not a benchmark of its own.

`run(folder, rows, keys)` gives its figures, or None with the reason printed: its packages (some 300 MB from Maven) are
fetched by `dependencies/fetch flink`, and a Java compiler has to be there.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENED = ("java.util", "java.lang", "java.time", "java.nio", "java.lang.reflect", "java.net", "java.util.concurrent")
CHECKPOINT_MS = 10_000


def run(folder: pathlib.Path, rows: int, keys: int):
    java, javac = shutil.which("java"), shutil.which("javac")
    if not javac:
        print("Flink: left out, there is no javac", file=sys.stderr)
        return None
    fetched = subprocess.run([sys.executable, ROOT / "dependencies" / "fetch", "flink"], text=True, capture_output=True)
    if fetched.returncode != 0:
        last = fetched.stderr.strip().splitlines()[-1:] or ["no reason given"]
        print(f"Flink: left out, its packages could not be fetched: {last[0]}", file=sys.stderr)
        return None
    jars = f"{fetched.stdout.strip()}/*"
    classes = folder / "classes"
    subprocess.run([javac, "-cp", jars, "-d", classes, ROOT / "bench" / "peers" / "FlinkUpsert.java"], check=True)
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    process = subprocess.Popen([java, "-Xmx4g", *opened, "-cp", f"{classes}:{jars}", "FlinkUpsert", f"file://{folder}/flink", str(rows),
                                str(keys), str(os.cpu_count()), str(CHECKPOINT_MS)], stdout=subprocess.PIPE,
                               stderr=(folder / "flink.log").open("w"), text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        print(f"Flink: failed:\n{(folder / 'flink.log').read_text()[-2000:]}", file=sys.stderr)
        return None
    figures = json.loads(out.strip().splitlines()[-1])
    cpu = usage.ru_utime + usage.ru_stime
    return {**figures, "cpu_s": round(cpu, 1), "rows_per_cpu_s": round(rows / cpu), "peak_mb": usage.ru_maxrss // 1024}

"""Upserts from a real Kafka topic into a committed table, beside the same topic read and thrown away.

    ./dev bench ingest [--keys N] [--records N] [--partitions N] [--memory-limit SIZE] [--commit-records N] [--verify]

1. A topic gets --keys inserts, and a pipeline takes them: the first load of the table, bucket(32, app_id) x bucket(8, key).
2. The topic gets --records more: 80 % updates by Zipf's law, 19 % inserts, 1 % deletes. A pipeline takes them, the index
   holding --keys keys: rows a second of wall time with broker and pipeline on this machine, CPU seconds of the pipeline
   by stage and of the broker, peak memory, commit latency, vector bytes for each byte of rows.
3. The same records are read by the same client and thrown away: what the pipeline adds to that.
4. With --flink: Flink's upsert sink takes as many rows over as many keys, without Kafka and without looking a key up
   (peers/FlinkUpsert.java); left out with the reason where its packages cannot be had.

The JSON of all figures is the last line.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "bench" / "scenario")]

import flink_peer  # noqa: E402
from home import Home  # noqa: E402
from kafka_broker import Broker  # noqa: E402
from process_memory import Memory  # noqa: E402
from registry import Registry  # noqa: E402

FRAZIL = os.environ["FRAZIL_BIN"]
TOPIC = "user_kv"


def names(options) -> list:
    """Topic and table of each pipeline."""
    return [TOPIC + (f"_{number}" if number else "") for number in range(options.pipelines)]


def say(text):
    print(text, file=sys.stderr, flush=True)


def cpu_of(process) -> float:
    """CPU seconds of a running process, from the kernel."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(home, *arguments):
    """Runs frazil to its end: (standard output, wall seconds, CPU seconds, peaks of memory)."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        start = time.perf_counter()
        process = subprocess.Popen([FRAZIL, *map(str, arguments)], env=home.environment(), cwd=home.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=said)
        memory = Memory(process.pid)
        memory.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        memory.join()
        out.seek(0)
        said.seek(0)
        if process.returncode != 0:
            sys.exit(f"frazil {' '.join(map(str, arguments))} ended with {process.returncode}:\n{out.read()}{said.read()}")
        return out.read(), wall, usage.ru_utime + usage.ru_stime, memory.figures()


def write_config(home, broker, registry, options) -> pathlib.Path:
    path = home.folder / "user_kv.yaml"
    path.write_text(json.dumps({
        "version": 1,
        "http": {"listen": "127.0.0.1:0"},
        "limits": {"memory": options.memory_limit},
        "pipelines": {name: {
            "source": {"topic": name, "properties.bootstrap.servers": broker.bootstrap,
                       "properties.group.id": f"frazil-{name}", "scan.startup.mode": "earliest-offset",
                       "key.format": "avro-confluent", "value.format": "avro-confluent",
                       "value.avro-confluent.url": registry.url},
            "sink": {"table": f"apps.{name}", "identifier-fields": ["app_id", "user_id", "key"],
                     "partition-by": ["bucket(32, app_id)", "bucket(8, key)"],
                     "columns": {"app_id": "insight_id", "updated_at": "$timestamp"}, "create-if-missing": True},
            "commit": {"interval": options.interval, "max-bytes": "1GB", "max-records": options.commit_records},
        } for name in names(options)}}))
    return path


def take(home, broker, config, records):
    """Runs the pipeline over what the topic has and the table has not."""
    broker_before = cpu_of(broker.process)
    out, wall, cpu, memory = run(home, "run", "-c", config, "--bounded", "-o", "json")
    broker_cpu = cpu_of(broker.process) - broker_before
    report = json.loads(out.strip().splitlines()[-1])
    pipeline = sum_of(report["pipelines"])
    assert pipeline["records"] == records, f"{pipeline['records']} records read, {records} are there"
    return {"records": records, "wall_s": round(wall, 2), "rows_per_s": round(records / wall),
            "cpu_s": round(cpu, 2), "rows_per_cpu_s": round(records / cpu), "broker_cpu_s": round(broker_cpu, 2),
            "memory": memory, "commits": pipeline["commits"],
            "commit_s": {"mean": round(pipeline["commit_seconds"] / max(1, pipeline["commits"]), 2),
                         "max": round(pipeline["longest_commit_seconds"], 2)},
            "vector_bytes_per_row_byte": round(pipeline["vector_bytes"] / max(1, pipeline["row_bytes"]), 3),
            "report": pipeline}


def sum_of(pipelines: list) -> dict:
    """What they did together; the longest commit of all."""
    total = {name: sum(each[name] for each in pipelines)
             for name in ("records", "inserts", "updates", "deletes", "commits", "data_files", "vectors", "row_bytes",
                          "vector_bytes", "commit_seconds", "backpressure_seconds")}
    total["longest_commit_seconds"] = max(each["longest_commit_seconds"] for each in pipelines)
    stages = {stage for each in pipelines for stage in each["stage_cpu_seconds"]}
    total["stage_cpu_seconds"] = {stage: sum(each["stage_cpu_seconds"].get(stage, 0) for each in pipelines) for stage in stages}
    return total


def generate(home, broker, registry, records, skip, options):
    """The same number to each topic, of other keys."""
    for number, name in enumerate(names(options)):
        run(home, "bench", "gen", "--topic", name, "--bootstrap-servers", broker.bootstrap, "--registry", registry.url,
            "-n", records, "--skip", skip, "--keys", options.keys, "--users", options.users, "--seed", options.seed + number,
            "--first-timestamp", options.first_timestamp_ms)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--commit-records", type=int, default=1_000_000)
    parser.add_argument("--memory-limit", default="2GB")
    parser.add_argument("--interval", default="60s", help="commit interval")
    parser.add_argument("--pipelines", type=int, default=1, help="so many in the one process, each with a topic of its own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flink", action="store_true", help="beside Flink's upsert sink")
    parser.add_argument("--verify", action="store_true", help="compare the table with the topic afterwards")
    options = parser.parse_args()
    # A record a millisecond, none in the future: brokers refuse those.
    options.first_timestamp_ms = int(time.time() * 1000) - options.keys - options.records

    with tempfile.TemporaryDirectory(prefix="frazil-bench-") as name:
        folder = pathlib.Path(name)
        home = Home(folder / "home", "bench")
        broker = Broker(folder / "kafka").start()
        registry = Registry(folder / "registry").start()
        try:
            for topic in names(options):
                broker.create_topic(topic, partitions=options.partitions)
            config = write_config(home, broker, registry, options)
            generate(home, broker, registry, options.keys, 0, options)
            figures = {"keys": options.keys, "memory_limit": options.memory_limit,
                       "first_load": take(home, broker, config, options.keys * options.pipelines)}
            total = options.keys + options.records
            generate(home, broker, registry, total, options.keys, options)
            figures["upserts"] = take(home, broker, config, options.records * options.pipelines)
            _, wall, cpu, _ = run(home, "bench", "consume", "--topic", TOPIC, "--bootstrap-servers", broker.bootstrap,
                                 "-n", total)
            figures["consume_only"] = {"records": total, "wall_s": round(wall, 2), "cpu_s": round(cpu, 2),
                                       "rows_per_s": round(total / wall), "rows_per_cpu_s": round(total / cpu)}
            figures["rows"] = 0
            for name in names(options):
                query = f'SELECT count(*), count(DISTINCT (app_id, user_id, "key")) FROM apps.{name}'
                rows, keys = run(home, "sql", "-q", "-o", "csv", "-e", query)[0].splitlines()[-1].split(",")
                assert rows == keys, f"{rows} rows of {keys} keys"
                figures["rows"] += int(rows)
                if options.verify:
                    run(home, "verify", f"apps.{name}", "-c", config)  # ends with 10 when anything differs
            if options.flink:
                figures["flink"] = flink_peer.run(folder, options.records, options.keys)
            show(figures)
        finally:
            registry.kill()
            broker.kill()


def show(figures):
    for name, title in (("first_load", "first load"), ("upserts", "upserts")):
        part = figures[name]
        report = part["report"]
        say(f"{title}: {part['records']:,} records, {part['rows_per_s']:,}/s wall, {part['rows_per_cpu_s']:,}/CPU s "
            f"(pipeline {part['cpu_s']} s, broker {part['broker_cpu_s']} s)")
        say(f"    {part['commits']} commits: {part['commit_s']['mean']} s on average, {part['commit_s']['max']} s at most; "
            f"{part['vector_bytes_per_row_byte']} bytes of vectors for a byte of rows")
        say(f"    memory: {part['memory']['anonymous_mb']} MB of {figures['memory_limit']}, with mapped files "
            f"{part['memory']['resident_mb']} MB")
        stages = ", ".join(f"{stage} {seconds / part['records'] * 1e6:.2f}"
                           for stage, seconds in sorted(report.get("stage_cpu_seconds", {}).items()))
        say(f"    CPU seconds a million records by stage: {stages}")
    consume = figures["consume_only"]
    say(f"read and thrown away: {consume['rows_per_s']:,}/s wall, {consume['rows_per_cpu_s']:,}/CPU s; the pipeline takes "
        f"{consume['rows_per_cpu_s'] / figures['upserts']['rows_per_cpu_s']:.2f} times its CPU")
    if flink := figures.get("flink"):
        say(f"Flink's upsert sink: {flink['rows_per_s']:,.0f}/s wall, {flink['rows_per_cpu_s']:,}/CPU s with its start, "
            f"{flink['peak_mb']} MB; {flink['equality_deletes']:,} equality deletes are left to readers")
        ours = figures["upserts"]
        flink["frazil_over_flink"] = {"wall": round(ours["rows_per_s"] / flink["rows_per_s"], 2),
                                      "cpu": round(ours["rows_per_cpu_s"] / flink["rows_per_cpu_s"], 2)}
        say(f"frazil over Flink, with Kafka, decoding and look-ups of its own: {flink['frazil_over_flink']['wall']} times the "
            f"rows a second, {flink['frazil_over_flink']['cpu']} times the rows a CPU second")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

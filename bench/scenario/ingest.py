"""Upserts from a real Kafka topic into a committed table, beside the same topic read and thrown away.

    ./dev bench ingest [--keys N] [--records N] [--partitions N] [--memory-limit SIZE] [--commit-records N] [--verify]

1. A topic gets --keys inserts, and a pipeline takes them: the first load of the table, bucket(32, app_id) x bucket(8, key).
2. The topic gets --records more: 80 % updates by Zipf's law, 19 % inserts, 1 % deletes. A pipeline takes them, the index
   holding --keys keys: rows a second of wall time with broker and pipeline on this machine, CPU seconds of the pipeline
   by stage and of the broker, peak memory, commit latency, vector bytes for each byte of rows.
3. The same records are read by the same client and thrown away: what the pipeline adds to that.

The JSON of all figures is the last line.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from home import Home  # noqa: E402
from kafka_broker import Broker  # noqa: E402
from registry import Registry  # noqa: E402

FRAZIL = os.environ["FRAZIL_BIN"]
TOPIC = "user_kv"


def say(text):
    print(text, file=sys.stderr, flush=True)


def cpu_of(process) -> float:
    """CPU seconds of a running process, from the kernel."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(home, *arguments):
    """Runs frazil to its end: (standard output, wall seconds, CPU seconds)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run([FRAZIL, *map(str, arguments)], env=home.environment(), cwd=home.folder, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"frazil {' '.join(map(str, arguments))} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_config(home, broker, registry, options) -> pathlib.Path:
    path = home.folder / "user_kv.yaml"
    path.write_text(json.dumps({
        "version": 1,
        "http": {"listen": "127.0.0.1:0"},
        "limits": {"memory": options.memory_limit},
        "pipelines": {"user-kv": {
            "source": {"topic": TOPIC, "properties.bootstrap.servers": broker.bootstrap,
                       "properties.group.id": "frazil-bench", "scan.startup.mode": "earliest-offset",
                       "key.format": "avro-confluent", "value.format": "avro-confluent",
                       "value.avro-confluent.url": registry.url},
            "sink": {"table": "apps.user_kv", "identifier-fields": ["app_id", "user_id", "key"],
                     "partition-by": ["bucket(32, app_id)", "bucket(8, key)"],
                     "columns": {"app_id": "insight_id", "updated_at": "$timestamp"}, "create-if-missing": True},
            "commit": {"interval": "60s", "max-bytes": "1GB", "max-records": options.commit_records},
        }}}))
    return path


def take(home, broker, config, records):
    """Runs the pipeline over what the topic has and the table has not."""
    broker_before = cpu_of(broker.process)
    out, wall, cpu = run(home, "run", "-c", config, "--bounded", "-o", "json")
    broker_cpu = cpu_of(broker.process) - broker_before
    report = json.loads(out.strip().splitlines()[-1])
    (pipeline,) = report["pipelines"]
    assert pipeline["records"] == records, f"{pipeline['records']} records read, {records} are there"
    return {"records": records, "wall_s": round(wall, 2), "rows_per_s": round(records / wall),
            "cpu_s": round(cpu, 2), "rows_per_cpu_s": round(records / cpu), "broker_cpu_s": round(broker_cpu, 2),
            "report": pipeline}


def generate(home, broker, registry, records, skip, options):
    run(home, "bench", "gen", "--topic", TOPIC, "--bootstrap-servers", broker.bootstrap, "--registry", registry.url,
        "-n", records, "--skip", skip, "--keys", options.keys, "--users", options.users, "--seed", options.seed,
        "--first-timestamp", options.first_timestamp_ms)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--commit-records", type=int, default=1_000_000)
    parser.add_argument("--memory-limit", default="2GB")
    parser.add_argument("--seed", type=int, default=1)
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
            broker.create_topic(TOPIC, partitions=options.partitions)
            config = write_config(home, broker, registry, options)
            generate(home, broker, registry, options.keys, 0, options)
            figures = {"keys": options.keys, "memory_limit": options.memory_limit,
                       "first_load": take(home, broker, config, options.keys)}
            total = options.keys + options.records
            generate(home, broker, registry, total, options.keys, options)
            figures["upserts"] = take(home, broker, config, options.records)
            out, wall, cpu = run(home, "bench", "consume", "--topic", TOPIC, "--bootstrap-servers", broker.bootstrap,
                                 "-n", total)
            figures["consume_only"] = {"records": total, "wall_s": round(wall, 2), "cpu_s": round(cpu, 2),
                                       "rows_per_s": round(total / wall), "rows_per_cpu_s": round(total / cpu)}
            rows, keys = run(home, "sql", "-q", "-o", "csv", "-e", "SELECT count(*), count(DISTINCT (app_id, user_id, \"key\")) "
                             "FROM apps.user_kv")[0].splitlines()[-1].split(",")
            assert rows == keys, f"{rows} rows of {keys} keys"
            figures["rows"] = int(rows)
            if options.verify:
                figures["verify"] = json.loads(run(home, "verify", "apps.user_kv", "-c", config, "-o", "json")[0].splitlines()[-1])
            show(figures)
        finally:
            registry.kill()
            broker.kill()


def show(figures):
    for name, title in (("first_load", "first load"), ("upserts", "upserts")):
        part = figures[name]
        report = part["report"]
        say(f"{title}: {part['records']:,} records, {part['rows_per_s']:,}/s wall, {part['rows_per_cpu_s']:,}/CPU s "
            f"(pipeline {part['cpu_s']} s, broker {part['broker_cpu_s']} s), {report['commits']} commits")
        stages = ", ".join(f"{stage} {seconds / part['records'] * 1e6:.2f}"
                           for stage, seconds in sorted(report.get("stage_cpu_seconds", {}).items()))
        say(f"    CPU seconds a million records by stage: {stages}")
    consume = figures["consume_only"]
    say(f"read and thrown away: {consume['rows_per_s']:,}/s wall, {consume['rows_per_cpu_s']:,}/CPU s; the pipeline takes "
        f"{consume['rows_per_cpu_s'] / figures['upserts']['rows_per_cpu_s']:.2f} times its CPU")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

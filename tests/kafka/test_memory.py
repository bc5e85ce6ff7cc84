"""--memory-limit holds for the whole process, however many pipelines it runs and however many keys come in one interval."""

import os
import subprocess

import pytest

from home import needed
from process_memory import Memory
from running import write_config

RECORDS = 400_000
LIMIT_MB = 256


def config_of(home, broker, registry, topics):
    return write_config(home, {topic: {
        "source": {"topic": topic, "properties.bootstrap.servers": broker.bootstrap, "scan.startup.mode": "earliest-offset",
                   "key.format": "avro-confluent", "value.format": "avro-confluent", "value.avro-confluent.url": registry.url},
        "sink": {"table": f"apps.{topic.replace('-', '_')}", "identifier-fields": ["app_id", "user_id", "key"],
                 "partition-by": ["bucket(32, app_id)", "bucket(8, key)"],
                 "columns": {"app_id": "insight_id", "updated_at": "$timestamp"}, "create-if-missing": True},
        "commit": {"interval": "30min", "max-bytes": "1GB", "max-records": 100_000_000}} for topic in topics})


@pytest.mark.parametrize("pipelines", [1, 4])
def test_distinct_keys_of_one_interval_stay_below_the_limit(home, broker, registry, pipelines):
    topics = [broker.create_topic(partitions=2) for _ in range(pipelines)]
    each = RECORDS // pipelines
    for seed, topic in enumerate(topics):
        home.run("bench", "gen", "--topic", topic, "--bootstrap-servers", broker.bootstrap, "--registry", registry.url,
                 "-n", each, "--keys", each, "--seed", seed)
    config = config_of(home, broker, registry, topics)
    with (home.folder / "run.log").open("w") as log:
        process = subprocess.Popen([needed("FRAZIL_BIN"), "run", "-c", config, "--bounded", "--memory-limit", f"{LIMIT_MB}MB"],
                                   env=home.environment(), cwd=home.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        memory = Memory(process.pid)
        memory.start()
        _, status, _ = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        memory.join()
    assert process.returncode == 0, (home.folder / "run.log").read_text()[-3000:]
    peak = memory.figures()
    print(peak)
    assert peak["anonymous_mb"] <= LIMIT_MB, peak
    for topic in topics:
        rows = home.sql(f"SELECT count(*) AS n FROM apps.{topic.replace('-', '_')}")[0]["n"]
        assert rows == each

"""Two processes of one pipeline that nothing keeps apart (each has its own home, so its own key index): one that slept commits
right rows or none."""

import json
import pathlib
import signal
import subprocess

import pytest

from engines import DuckDB, Frazil
from home import Home, needed
from running import COLUMNS, Running, UserKv, pipeline, write_config
from server import wait_until

TABLE = "apps.user_kv"


def home_of_another_machine(home) -> Home:
    """The same catalog and tables, and a key index of its own: nothing keeps its processes and the first one's apart."""
    other = Home(home.folder.parent / f"{home.folder.name}-other", home.catalog)
    (other.folder / "frazil.yaml").write_text((home.folder / "frazil.yaml").read_text())
    return other


def is_stopped(process) -> bool:
    return pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


@pytest.mark.parametrize("at", [2, 4, 6])
def test_a_process_that_slept_between_look_up_and_commit_commits_nothing_twice(home, broker, registry, at):
    topic = UserKv(broker, registry)
    topic.upsert((n % 3, n, "k", "first") for n in range(30))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    other = home_of_another_machine(home)
    home.run("run", "-c", config, "--bounded", "-q")
    ids = {row["user_id"]: row["_row_id"] for row in home.sql(f"SELECT user_id, _row_id FROM {TABLE}")}
    topic.upsert([(n % 3, n, "k", f"second {n}") for n in range(20)] + [(0, 6, "k", None), (2, 500, "k", "new")])
    log = (home.folder / "slept.log").open("w")
    sleeper = subprocess.Popen([needed("FRAZIL_BIN"), "run", "-c", str(config), "--bounded"], cwd=home.folder, stdout=log,
                               stderr=log, stdin=subprocess.DEVNULL, env=home.environment(FRAZIL_STOP_AT_FILE=str(at)))
    try:
        wait_until(lambda: sleeper.poll() is not None or is_stopped(sleeper), 120, "the run to stop or end")
        # Meanwhile another process does its work, and goes on behind it.
        other.run("run", "-c", config, "--bounded", "-q")
        topic.upsert([(1, 7, "k", "third"), (2, 500, "k", None), (2, 501, "k", "newer")])
        other.run("run", "-c", config, "--bounded", "-q")
        snapshots = len(home.metadata(TABLE)["snapshots"])
        slept = sleeper.poll() is None
    finally:
        if sleeper.poll() is None:
            sleeper.send_signal(signal.SIGCONT)
    assert sleeper.wait(120) == 0, (home.folder / "slept.log").read_text()
    assert Frazil(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)
    assert DuckDB(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)
    if slept:
        assert len(home.metadata(TABLE)["snapshots"]) == snapshots
    after = {row["user_id"]: row["_row_id"] for row in home.sql(f"SELECT user_id, _row_id FROM {TABLE}")}
    assert {user: row_id for user, row_id in ids.items() if user != 6} == {user: after[user] for user in ids if user != 6}
    assert json.loads(home.run("verify", TABLE, "-c", config, "-o", "json").stdout)["is_equal"]
    for each in (home, other):
        each.run("run", "-c", config, "--bounded", "-q")
        each.run("index", "verify", TABLE)


def test_two_processes_that_take_turns_sleeping_lose_and_double_nothing(home, broker, registry):
    topic = UserKv(broker, registry)
    topic.upsert((n % 3, n, "k", "first") for n in range(30))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, commit={"max-records": 10})})
    home.run("run", "-c", config, "--bounded", "-q")
    other = home_of_another_machine(home)
    with Running(home, config) as first, Running(other, config) as second:
        for turn in range(4):
            asleep, awake = (first, second) if turn % 2 == 0 else (second, first)
            asleep.process.send_signal(signal.SIGSTOP)
            topic.upsert((n % 3, n, "k", f"turn {turn} {n}") for n in range(turn * 5, turn * 5 + 25))
            awake.commit_all(topic)
            asleep.process.send_signal(signal.SIGCONT)
            topic.upsert((n % 3, n, "k", None if n % 5 == turn else f"both {turn} {n}") for n in range(20))
            end = {str(partition): last for partition, last in topic.end().items()}
            for one in (first, second):
                one.ask("/v1/pipelines/user-kv/drain", "POST")
            for one in (first, second):
                one.wait_for(lambda status: status["committed"] == end, f"all records to be committed ({end})")
            assert Frazil(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)
        for one in (first, second):
            code, _, said = one.stop()
            assert code == 143, said  # SIGTERM
    assert json.loads(home.run("verify", TABLE, "-c", config, "-o", "json").stdout)["is_equal"]

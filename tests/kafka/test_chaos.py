"""Everything at once against real servers, from a seed: a broker that is killed, runs that die at a write, requests to the
catalog and replies that get lost, stale answers, a second copy, Spark changing, compacting and expiring the table between look-up
and commit, rollbacks and retention. After every step each engine reads the same rows and the files hold together; when the dust
settles the table holds the last value of every key.

FRAZIL_TEST_SEED replays one seed, FRAZIL_CHAOS_STEPS makes it longer (tests/fault/pipeline_chaos_test.cc does many more
histories of the same kind in memory).
"""

import os
import pathlib
import random
import signal
import subprocess

import pytest

import engines
from home import needed
from running import COLUMNS, UserKv, pipeline, write_config
from server import wait_until
from table_layout import check_layout

TABLE = "apps.user_kv"
KEYS = range(40)
LASTING = range(0, 40, 4)  # keys that the topic never deletes
FIRST_FOREIGN = 1000
TAKES_ROWS = ("Spark: DELETE", "Spark: MERGE")  # rows that come back after these are new ones
MERGE_ON_READ = {f"write.{what}.mode": "merge-on-read" for what in ("delete", "update", "merge")}


class Chaos:
    def __init__(self, home, topic, registry, spark, seed):
        self.home, self.topic, self.spark = home, topic, spark
        self.chance = random.Random(seed)
        self.story = []
        self.values = 0
        self.foreign = FIRST_FOREIGN
        self.truncated_at = None  # the head when retention last took records that it has
        self.config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, commit={"max-records": 40}, sink={
            "table-properties": MERGE_ON_READ, "landing": self.chance.choice(["auto", "never"])})})
        self.produce(20)
        self.run()

    # ---- the topic

    def change(self, user: int, value):
        return user % 3, user, "k", value

    def produce(self, count: int) -> None:
        changes = []
        for _ in range(count):
            self.values += 1
            user = self.chance.choice(KEYS)
            value = None if user not in LASTING and self.chance.random() < 0.15 else f"v{self.values}"
            changes.append(self.change(user, value))
        self.topic.upsert(changes)

    # ---- the pipeline

    def start(self, **environment) -> subprocess.Popen:
        said = (self.home.folder / f"run-{len(self.story)}.log").open("w")
        return subprocess.Popen([needed("FRAZIL_BIN"), "run", "-c", str(self.config), "--bounded"], stdout=said, stderr=said,
                                stdin=subprocess.DEVNULL, cwd=self.home.folder, env=self.home.environment(**environment))

    def run(self, allowed=(0,), **environment) -> None:
        self.ended(self.start(**environment), allowed)

    def ended(self, process, allowed) -> None:
        code = process.wait(180)
        self.story.append(f"  ended with {code}")
        logs = sorted(self.home.folder.glob("run-*.log"), key=lambda path: path.stat().st_mtime)
        assert code in allowed, logs[-1].read_text()[-3000:]

    # ---- steps

    def step_kill(self):
        self.produce(self.chance.randrange(60))
        at = self.chance.randrange(1, 40)
        self.story.append(f"killed at write {at}")
        self.run((0, -signal.SIGKILL), FRAZIL_KILL_AT_WRITE=str(at))

    def step_between(self):
        """Stopped behind one of the files that a commit writes, while Spark commits."""
        self.produce(self.chance.randrange(20, 60))
        at = self.chance.randrange(1, 12)
        self.story.append(f"stopped at file {at}")
        process = self.start(FRAZIL_STOP_AT_FILE=str(at))
        try:
            stat = pathlib.Path(f"/proc/{process.pid}/stat")
            wait_until(lambda: process.poll() is not None or stat.read_text().rsplit(")", 1)[1].split()[0] == "T", 120,
                       "the run to stop or end")
            if process.poll() is None:
                try:
                    self.step_spark()
                except AssertionError as error:
                    if "SQLException" not in str(error):
                        raise
                    self.story.append("  it was stopped with the catalog's file locked: Spark could not get between")
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
        self.ended(process, (0,))

    def step_lost_commit(self):
        """The catalog loses the request, or makes the commit and loses the reply."""
        self.produce(self.chance.randrange(20, 60))
        fault = self.chance.choice(["FRAZIL_LOSE_COMMIT_REQUEST", "FRAZIL_LOSE_COMMIT_REPLY"])
        at = self.chance.randrange(1, 3)
        self.story.append(f"{fault}={at}")
        self.run(**{fault: str(at)})

    def step_stale_catalog(self):
        self.produce(self.chance.randrange(20, 60))
        at = self.chance.randrange(1, 8)
        self.story.append(f"stale answer {at}")
        # 3: what the table was before stands behind what retention took.
        self.run((0,) if self.truncated_at is None else (0, 3), FRAZIL_STALE_CATALOG=str(at))

    def step_broker(self):
        self.produce(self.chance.randrange(20, 60))
        self.story.append("the broker dies")
        process = self.start()
        self.topic.broker.restart()
        self.ended(process, (0, 3))  # 3: it was not there when the run connected

    def step_second_copy(self):
        self.produce(self.chance.randrange(20, 60))
        self.story.append("two at once")
        both = [self.start(), self.start()]
        for process in both:
            self.ended(process, (0, 3))  # 3: the other one has the index

    def step_spark(self):
        part = self.chance.randrange(5)
        self.foreign += 1
        statement = self.chance.choice([
            f"INSERT INTO {{c}}.{TABLE} VALUES (1, {self.foreign}, 'k', 'f', TIMESTAMP '2026-01-01 00:00:00')",
            f"UPDATE {{c}}.{TABLE} SET value = 'theirs' WHERE user_id % 5 = {part}",
            f"DELETE FROM {{c}}.{TABLE} WHERE user_id % 5 = {part}",
            f"MERGE INTO {{c}}.{TABLE} t USING (SELECT user_id FROM {{c}}.{TABLE} WHERE user_id % 5 = {part}) s "
            f"ON t.user_id = s.user_id WHEN MATCHED AND t.user_id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET value = 'merged'",
            f"CALL {{c}}.system.rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))",
            f"CALL {{c}}.system.expire_snapshots(table => '{TABLE}', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)",
        ])
        self.story.append(f"Spark: {statement}")
        self.spark.sql(statement)

    def step_rollback(self):
        metadata = self.home.metadata(TABLE)
        parent = {s["snapshot-id"]: s.get("parent-snapshot-id") for s in metadata["snapshots"]}

        def is_useful(snapshot):
            """It stands at or behind what retention left. Rollbacks make branches: a higher number alone says nothing."""
            while self.truncated_at is not None and snapshot != self.truncated_at:
                if snapshot not in parent:
                    return False
                snapshot = parent[snapshot]
            return True
        ours = [s["snapshot-id"] for s in metadata["snapshots"]
                if "frazil.markers" in s["summary"] and is_useful(s["snapshot-id"])]
        if ours:
            self.story.append("rollback")
            self.spark.sql(f"CALL {{c}}.system.set_current_snapshot('{TABLE}', {self.chance.choice(ours)})")

    def step_retention(self):
        self.run()  # so that what goes is in the table
        self.story.append("retention")
        end = self.topic.end()
        self.topic.broker.truncate(self.topic.topic, {p: self.chance.randrange(last + 1) for p, last in end.items()})
        self.truncated_at = self.home.metadata(TABLE)["current-snapshot-id"]

    def step(self):
        steps = [self.step_kill, self.step_kill, self.step_between, self.step_between, self.step_between, self.step_lost_commit,
                 self.step_stale_catalog, self.step_broker, self.step_second_copy, self.step_spark, self.step_rollback,
                 self.step_retention]
        step = self.chance.choice(steps)
        before = self.lasting_ids()
        first_line = len(self.story)
        step()
        if step != self.step_rollback and not any(word in line for line in self.story[first_line:] for word in TAKES_ROWS):
            after = self.lasting_ids()
            assert {user: after.get(user) for user in before} == before, "rows of lasting keys became other rows"

    def lasting_ids(self) -> dict:
        rows = engines.Frazil(self.home).rows(TABLE, ["user_id", engines.ROW_ID])
        return {user: row_id for user, row_id in rows if user in LASTING}

    # ---- what must hold

    def check(self):
        ours = engines.Frazil(self.home).rows(TABLE, [*COLUMNS, engines.ROW_ID])
        rows = [row[:-1] for row in ours]
        ids = [row[-1] for row in ours]
        assert len({row[:3] for row in rows}) == len(rows), "a key has two rows"
        assert None not in ids and len(set(ids)) == len(ids)
        assert not ids or max(ids) < self.home.metadata(TABLE)["next-row-id"]
        assert engines.PyIceberg(self.home).rows(TABLE, COLUMNS) == rows
        assert engines.DuckDB(self.home).rows(TABLE, [*COLUMNS, engines.ROW_ID]) == ours
        check_layout(engines.PyIceberg(self.home).load(TABLE), puffins_are_whole=False)
        self.home.run("index", "verify", TABLE)

    def settle(self):
        self.topic.upsert(self.change(user, None if user % 7 == 3 else f"last {user}") for user in KEYS)
        self.run()
        self.check()
        rows = engines.Frazil(self.home).rows(TABLE, COLUMNS)
        assert [row for row in rows if row[1] < FIRST_FOREIGN] == sorted(self.topic.rows(), key=repr)
        assert {row for row in self.spark.rows(TABLE, COLUMNS)} == set(rows)


@pytest.mark.parametrize("number", range(2))
def test_the_table_ends_with_the_last_value_of_every_key(home, broker, registry, spark_session, number):
    given = os.environ.get("FRAZIL_TEST_SEED")
    seed = int(given) if given else random.SystemRandom().randrange(1 << 32)
    print(f"FRAZIL_TEST_SEED={seed}")
    chaos = Chaos(home, UserKv(broker, registry), registry, engines.Spark(home, spark_session), seed)
    try:
        for _ in range(int(os.environ.get("FRAZIL_CHAOS_STEPS", "6"))):
            chaos.step()
            chaos.check()
        chaos.settle()
    finally:
        print("\n".join(chaos.story))

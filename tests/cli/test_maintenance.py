"""Maintenance as a user runs it: CALL in a script, and the commands compact, expire, clean-orphans, maintain, doctor, undo."""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import pytest

from home import ROOT, local_path, needed, upsert

TABLE = "demo.events"
COLUMNS = "id bigint not null, day date, kind string, v string"
REWRITE = ["rewritten_data_files_count", "added_data_files_count", "rewritten_bytes_count", "failed_data_files_count",
           "removed_delete_files_count"]
EXPIRE = ["deleted_data_files_count", "deleted_position_delete_files_count", "deleted_equality_delete_files_count",
          "deleted_manifest_files_count", "deleted_manifest_lists_count", "deleted_statistics_files_count"]
DAY_S = 24 * 3600


@pytest.fixture
def events(home):
    """20 commits of small files; rows of ten of them were updated, so those have vectors."""
    records = [upsert({"id": i if i < 90 else (i - 90) * 9}, day=f"2026-11-{1 + i % 9:02}", kind="ab"[i % 2], v=f"v{i}") for i in range(100)]
    home.ingest(records, TABLE, "--create", "--columns", COLUMNS, "--commit-every", "5")
    assert len(data_files(home)) == 20
    return home


def data_files(home):
    return home.sql(f"SELECT file_path, record_count FROM {TABLE}.data_files")


def rows(home):
    return home.sql(f"SELECT id, day, kind, v, _row_id, _last_updated_sequence_number FROM {TABLE} ORDER BY id")


def frames(done):
    """The results of a script in JSON lines, statement by statement, told apart by their columns."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def head(home):
    metadata = home.metadata(TABLE)
    return next(s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"])


def last_line(done):
    return json.loads(done.stdout.splitlines()[-1])


def in_the_past(path: pathlib.Path, days=10):
    stamp = time.time() - days * DAY_S
    os.utime(path, (stamp, stamp))


def orphan(home, name="lost.parquet", days=10) -> pathlib.Path:
    path = local_path(home.metadata(TABLE)["location"]) / "data" / name
    path.write_bytes(b"left by a job that failed")
    in_the_past(path, days)
    return path


def test_the_nightly_job(events):
    before, lost = rows(events), orphan(events, days=400)
    done = events.run("sql", "-q", "-o", "jsonl", "-f", ROOT / "examples/maintenance.sql")
    rewritten, expired, *orphans = frames(done)
    assert list(rewritten) == REWRITE
    assert (rewritten["rewritten_data_files_count"], rewritten["added_data_files_count"], rewritten["failed_data_files_count"]) == (20, 1, 0)
    assert list(expired) == EXPIRE and set(expired.values()) == {0}, "all snapshots are younger"
    assert [list(row) for row in orphans] == [["orphan_file_location"]]
    assert orphans[0]["orphan_file_location"].endswith("/data/lost.parquet") and lost.exists(), "a dry run"
    assert head(events)["summary"]["operation"] == "replace"
    assert len(data_files(events)) == 1
    assert rows(events) == before, "rows, their ids and when they last changed"


def test_the_production_form(events):
    before = rows(events)
    done = events.run("sql", "-q", "-o", "jsonl", "-e", f"""
        CALL system.rewrite_data_files(
          table => '{TABLE}', strategy => 'sort', sort_order => 'kind ASC NULLS LAST, id DESC',
          where => 'day >= DATE "2026-11-01" AND kind IN ("a", "b")',
          options => map(
            'target-file-size-bytes', '536870912', 'min-input-files', '50', 'rewrite-all', 'true',
            'partial-progress.enabled', 'true', 'partial-progress.max-commits', '10',
            'max-concurrent-file-group-rewrites', '2', 'remove-dangling-deletes', 'true',
            'rewrite-job-order', 'files-desc'))""")
    [rewritten] = frames(done)
    assert list(rewritten) == REWRITE and rewritten["rewritten_data_files_count"] == 20
    assert rows(events) == before
    kinds = [row["kind"] for row in events.sql(f"SELECT kind FROM {TABLE} ORDER BY _file, _pos")]
    assert kinds == sorted(kinds)


def test_expiry_frees_what_compaction_replaced_and_keeps_progress(events):
    before = rows(events)
    location = local_path(events.metadata(TABLE)["location"])
    events.sql(f"CALL system.rewrite_data_files(table => '{TABLE}', options => map('min-input-files', '2'))")
    dry = last_line(events.run("expire", TABLE, "--older-than", "0s", "--retain-last", "1", "-o", "json"))
    assert dry["dry_run"] is True and dry["deleted_data_files_count"] == 20
    assert len(events.metadata(TABLE)["snapshots"]) > 1, "nothing was changed"
    acted = last_line(events.run("expire", TABLE, "--older-than", "0s", "--retain-last", "1", "--yes", "-o", "json"))
    assert {**acted, "dry_run": True} == dry
    assert (acted["not_listed_files_count"], acted["not_listed_snapshots_and_refs_count"]) == (0, 0)
    assert len(events.metadata(TABLE)["snapshots"]) == 1
    assert len(list(location.glob("data/**/*.parquet"))) == 1
    assert rows(events) == before
    # The same command goes on where the ingest was: nothing is taken twice.
    events.run("ingest", "--from", events.folder / "batch-1.jsonl", "--format", "json-kv", "--table", TABLE,
               "--identifier-fields", "id")
    assert rows(events) == before


def test_compact_prints_one_line_of_json_last(events):
    before = rows(events)
    done = events.run("compact", TABLE, "--option", "min-input-files=2", "-o", "json")
    summary = last_line(done)
    assert summary["table"] == TABLE and summary["rewritten_data_files_count"] == 20 and summary["added_data_files_count"] == 1
    assert summary["rows"] == len(before) and isinstance(summary["seconds"], float)
    again = last_line(events.run("compact", TABLE, "--option", "min-input-files=2", "-o", "json"))
    assert (again["rewritten_data_files_count"], again["groups"], again["commits"]) == (0, 0, 0), "a fixed point"
    assert rows(events) == before


def test_compact_takes_its_options_by_name_only(events):
    done = events.run("compact", TABLE, "--option", "min-input-fils=2", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("error: rewrite_data_files has no option min-input-fils (did you mean min-input-files?) "
                           "(see frazil --help)\n")
    assert events.run("compact", "demo.event", check=False).stderr == "error: table not found: demo.event (did you mean demo.events?)\n"


def test_orphans_are_listed_then_deleted(events):
    old, young = orphan(events), orphan(events, "young.parquet", days=0)
    kept = {path for path in local_path(events.metadata(TABLE)["location"]).rglob("*") if path.is_file()} - {old}
    listed = events.run("clean-orphans", TABLE, "-o", "json")
    assert last_line(listed)["orphan_files_count"] == 1 and last_line(listed)["dry_run"] is True
    assert json.loads(listed.stdout.splitlines()[0])["orphan_file_location"].endswith("/lost.parquet")
    assert old.exists() and "nothing was deleted" in listed.stderr
    deleted = events.run("clean-orphans", TABLE, "--yes", "-o", "json")
    assert last_line(deleted)["orphan_files_count"] == 1 and last_line(deleted)["left_files_count"] == 0
    assert not old.exists() and young.exists()
    assert {path for path in local_path(events.metadata(TABLE)["location"]).rglob("*") if path.is_file()} == kept


def test_orphans_younger_than_a_day_go_by_force_only(events):
    hours = orphan(events, "young.parquet", days=0.5)
    kept = {path for path in local_path(events.metadata(TABLE)["location"]).rglob("*") if path.is_file()} - {hours}
    refusal = ("error: orphans younger than 24 hours are not deleted: --older-than 1h (younger files may belong to a commit "
               "that is under way; clean-orphans --yes --force deletes them all the same)\n")
    done = events.run("clean-orphans", TABLE, "--older-than", "1h", "--yes", "-o", "json", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", refusal)
    listed = events.run("clean-orphans", TABLE, "--older-than", "1h", "-o", "json")
    assert last_line(listed)["orphan_files_count"] == 1 and "--yes --force deletes these" in listed.stderr
    done = events.run("clean-orphans", TABLE, "--yes", check=False)
    assert (done.returncode, done.stderr) == (2, refusal), "the list was made with 1h"
    done = events.run("maintain", "run", TABLE, "--op", "orphans", "--yes", "-q", check=False)
    assert done.returncode == 1 and hours.exists()
    assert "younger than 24 hours" in done.stderr and "clean-orphans --yes --force deletes them" in done.stderr
    assert last_line(events.run("clean-orphans", TABLE, "--yes", "--force", "-o", "json"))["orphan_files_count"] == 1
    assert {path for path in local_path(events.metadata(TABLE)["location"]).rglob("*") if path.is_file()} == kept


def test_a_day_is_old_enough(events):
    old, young = orphan(events, "old.parquet", days=2), orphan(events, "young.parquet", days=0.9)
    events.run("clean-orphans", TABLE, "--older-than", "24h", "--yes")
    assert not old.exists() and young.exists()
    old = orphan(events, "older.parquet", days=2)
    assert "--yes deletes these" in events.run("clean-orphans", TABLE, "--older-than", "24h").stderr
    events.run("clean-orphans", TABLE, "--yes")
    assert not old.exists() and young.exists()


def test_a_view_of_files_stands_for_a_listing(events):
    """As Spark's file_list_view: the view's word counts for what is there and how old it is."""
    listed, unlisted = orphan(events), orphan(events, "unlisted.parquet")
    folder = f"{events.metadata(TABLE)['location']}/data"
    before = rows(events)
    done = events.run("sql", "-q", "-o", "jsonl", "-f", "-", input=f"""
        CREATE TEMP VIEW inventory AS
          SELECT '{folder}/' || name AS file_path, TIMESTAMP '2026-01-01 00:00:00' AS last_modified
          FROM (VALUES ('lost.parquet'), ('_SUCCESS'), ('../metadata/x.json'), ('young.parquet')) files(name)
          WHERE name <> 'young.parquet'
          UNION ALL SELECT '{folder}/young.parquet', TIMESTAMP '2999-01-01 00:00:00'
          UNION ALL SELECT file_path, TIMESTAMP '2026-01-01 00:00:00' FROM {TABLE}.data_files;
        CALL system.remove_orphan_files(table => '{TABLE}', file_list_view => 'inventory');
        """)
    assert [row["orphan_file_location"] for row in frames(done)] == [f"{folder}/lost.parquet"]
    assert not listed.exists() and unlisted.exists()
    assert rows(events) == before


def test_only_orphans_that_were_shown_are_deleted(events):
    first, second = orphan(events, "first.parquet"), orphan(events, "second.parquet")
    events.run("clean-orphans", TABLE)
    [shown] = events.folder.glob("state/*/orphans.jsonl")
    shown.write_text("".join(line for line in shown.read_text().splitlines(keepends=True) if "second" not in line))
    later = orphan(events, "later.parquet")
    done = events.run("clean-orphans", TABLE, "--yes")
    assert not first.exists() and second.exists() and later.exists() and not shown.exists()
    assert "2 more are orphans, but were not in the list" in done.stderr
    events.run("clean-orphans", TABLE, "--yes")
    assert not second.exists() and not later.exists(), "without a list, both phases at once"


def test_only_snapshots_that_were_shown_are_expired(events):
    """Two phases: a list with a reason a file, nothing until --yes, and then what is in the list and nothing else."""
    before = rows(events)
    events.run("compact", TABLE, "--option", "min-input-files=2")
    shown = events.run("expire", TABLE, "--older-than", "0s", "--retain-last", "1", "-o", "json")
    [path] = events.folder.glob("state/*/expire.jsonl")
    assert str(path) in shown.stderr
    listed = [json.loads(line) for line in path.read_text().splitlines()]
    snapshots = [line["snapshot"] for line in listed if "snapshot" in line]
    files = [line for line in listed if "path" in line]
    assert len(snapshots) == last_line(shown)["expired_snapshots_count"] > 10
    assert sum(line["kind"] == "data file" for line in files) == 20
    assert all(line["reason"].startswith("freed by the expiry of snapshot ") for line in files)
    # Somebody wants to keep one, and there are new ones by then.
    kept = snapshots[3]
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if str(kept) not in line))
    events.sql(f"UPDATE {TABLE} SET v = 'later' WHERE id = 1")
    events.sql(f"UPDATE {TABLE} SET v = 'last' WHERE id = 1")
    done = events.run("expire", TABLE, "--older-than", "0s", "--retain-last", "1", "--yes", "-o", "json")
    assert last_line(done)["expired_snapshots_count"] == len(snapshots) - 1
    left = {s["snapshot-id"] for s in events.metadata(TABLE)["snapshots"]}
    assert kept in left and not left & (set(snapshots) - {kept})
    assert "more could go since the list was made" in done.stderr and not path.exists()
    assert [row for row in rows(events) if row["id"] != 1] == [row for row in before if row["id"] != 1]
    events.run("expire", TABLE, "--older-than", "0s", "--retain-last", "1", "--yes", "--max-deletes-per-second", "1000")
    left = {s["snapshot-id"] for s in events.metadata(TABLE)["snapshots"]}
    assert len(left) == 2 and kept not in left, "without a list both phases at once; the head and the pipelines' progress stay"
    [run, *_] = frames(events.run("maintain", "history", TABLE, "-o", "jsonl", "-q"))
    reasons = frames(events.run("maintain", "history", TABLE, "--run", run["run"], "-o", "jsonl", "-q"))
    assert reasons and all(row["reason"].startswith("freed by the expiry of snapshot ") for row in reasons)


def many_snapshots(home, num):
    """As many commits in one metadata file: copies of the head, one the parent of the next."""
    catalog = sqlite3.connect(home.folder / "catalog.db")
    [(location,)] = catalog.execute("SELECT metadata_location FROM iceberg_tables").fetchall()
    metadata = json.loads(local_path(location).read_text())
    head = metadata["snapshots"][-1]
    head["timestamp-ms"] -= num  # none is of the future
    for i in range(num):
        head = {**head, "parent-snapshot-id": head["snapshot-id"], "snapshot-id": 1000 + i, "timestamp-ms": head["timestamp-ms"] + 1,
                "sequence-number": head["sequence-number"] + 1, "first-row-id": metadata["next-row-id"], "added-rows": 0}
        metadata["snapshots"].append(head)
    metadata.update({"current-snapshot-id": head["snapshot-id"], "last-sequence-number": head["sequence-number"],
                     "last-updated-ms": head["timestamp-ms"], "snapshot-log": []})
    metadata["refs"]["main"]["snapshot-id"] = head["snapshot-id"]
    local_path(location).write_text(json.dumps(metadata))


def hidden(path: pathlib.Path) -> pathlib.Path:
    """A file that is away."""
    return path.rename(path.with_name(path.name + ".away"))


def test_a_file_group_that_fails_ends_the_run_with_its_reason(events):
    """Groups are committed as they are done; what cannot be done is said, and is no success."""
    gone = hidden(local_path(data_files(events)[3]["file_path"]))
    done = events.run("compact", TABLE, "--option", "min-input-files=2", "-o", "json", check=False)
    summary = last_line(done)
    assert done.returncode == 1
    assert (summary["groups"], summary["failed_groups"], summary["failed_data_files_count"]) == (0, 1, 20)
    assert gone.name.removesuffix(".away") in summary["failure"] and "1 of 1 file groups failed" in summary["failure"]
    assert done.stderr.splitlines()[-1].startswith("error: ") and "1 of 1 file groups failed" in done.stderr
    [run] = frames(events.run("maintain", "history", TABLE, "-o", "jsonl", "-q"))
    assert "1 of 1 file groups failed" in run["outcome"] and run["measured"]["failed_groups"] == 1
    done = events.run("maintain", "run", TABLE, "--option", "min-input-files=2", "-o", "json", check=False)
    summary = last_line(done)
    assert (done.returncode, summary["failed_steps"]) == (1, 1)
    assert "1 of 1 file groups failed" in summary["compact"]["text"] and summary["compact"]["failed_groups"] == 1
    assert summary["manifests"]["outcome"] == "ok", "the other steps are done all the same"
    assert "step compact" in done.stderr.splitlines()[-1]


def test_files_of_a_format_that_is_not_written_are_no_success(events):
    events.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('write.format.default' = 'orc')")
    done = events.run("compact", TABLE, "--option", "min-input-files=2", "-o", "json", check=False)
    assert done.returncode == 1 and last_line(done)["failed_groups"] == 1
    assert "data files are written as Parquet only, not write.format.default = orc" in last_line(done)["failure"]


def test_a_step_that_fails_does_not_end_the_others(events):
    events.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    for verb in "plan", "run":
        done = events.run("maintain", verb, TABLE, "--op", "all", "--option", "min-input-files=2", "-o", "json", check=False)
        assert (done.returncode, last_line(done)["failed_steps"]) == (1, 2), done.stderr
        assert "GC is disabled" in done.stderr.splitlines()[-1]
    summary = last_line(done)
    assert summary["compact"]["text"] == "rewrote 20 files into 1"
    assert summary["expire"]["text"].startswith("failed: Cannot expire snapshots: GC is disabled")
    assert summary["orphans"]["text"].startswith("failed: Cannot delete orphan files: GC is disabled")


def test_a_list_is_done_under_its_own_conditions(events):
    lost = [orphan(events, f"lost-{i}", days=2) for i in range(3)]
    events.run("clean-orphans", TABLE, "--older-than", "1d")
    [path] = events.folder.glob("state/*/orphans.jsonl")
    done = events.run("clean-orphans", TABLE, "--older-than", "7d", "--yes", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("error: --yes does what was listed, and that was with --older-than 1d, not with --older-than 7d "
                           f"(leave the option out, or list again, or delete {path})\n")
    assert path.exists() and all(file.exists() for file in lost)
    done = events.run("clean-orphans", TABLE, "--yes", "-o", "json")
    assert last_line(done)["orphan_files_count"] == 3 and "stay or are gone" not in done.stderr
    assert not any(file.exists() for file in lost) and not path.exists()


def test_a_list_of_snapshots_says_why_and_is_done_under_its_own_conditions(events):
    events.run("compact", TABLE, "--option", "min-input-files=2")
    shown = frames(events.run("expire", TABLE, "--older-than", "0s", "--retain-last", "2", "-o", "jsonl", "-q"))
    summary = shown.pop()
    assert summary["expired_snapshots_count"] == len(shown) > 10
    assert all(row["reason"] == "old enough, and not among the newest that are kept" for row in shown)
    assert all(row["committed_at"].startswith("20") and row["operation"] for row in shown)
    [path] = events.folder.glob("state/*/expire.jsonl")
    header, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["conditions"] == {"--older-than": "0s", "--retain-last": "2"} and header["older-than-ms"] > 0
    listed = [line for line in lines if "snapshot" in line]
    assert [line["snapshot"] for line in listed] == [row["snapshot_id"] for row in shown]
    assert [line["files"] for line in listed] == [row["freed_files_count"] for row in shown]
    assert sum(line["files"] for line in listed) == sum("path" in line for line in lines)
    for wrong in (["--retain-last", "5"], ["--clean-metadata"], ["--snapshot-id", str(shown[0]["snapshot_id"])]):
        done = events.run("expire", TABLE, *wrong, "--yes", check=False)
        assert done.returncode == 2 and f"not with {wrong[0]}" in done.stderr and path.exists()
    done = events.run("expire", TABLE, "--yes", "-o", "json")
    assert last_line(done)["expired_snapshots_count"] == len(shown)


@pytest.mark.parametrize("how", [["expire"], ["maintain", "run", "--op", "expire"]], ids=["expire", "maintain"])
def test_a_file_that_was_taken_out_of_the_list_stays(events, how):
    events.run("compact", TABLE, "--option", "min-input-files=2")
    events.run("expire", TABLE, "--older-than", "0s", "--retain-last", "1")
    [path] = events.folder.glob("state/*/expire.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    taken_out = next(line for line in lines if json.loads(line).get("kind") == "data file")
    path.write_text("".join(line for line in lines if line != taken_out))
    done = events.run(*how, TABLE, "--yes")
    assert local_path(json.loads(taken_out)["path"]).exists()
    assert "1 files that only expired snapshots needed were not in the list and stay, as orphans" in done.stderr
    assert len(list(local_path(events.metadata(TABLE)["location"]).glob("data/**/*.parquet"))) == 2, "the new one, and it"


def test_an_orphan_that_was_taken_out_of_the_list_stays_whatever_runs(events):
    paths = [orphan(events, f"lost-{i:02}") for i in range(20)]
    process = subprocess.Popen([needed("FRAZIL_BIN"), "clean-orphans", TABLE, "--yes", "--max-deletes-per-second", "5"],
                               env=events.environment(), cwd=events.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not any(not path.exists() for path in paths):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    left = [path for path in paths if path.exists()]
    events.run("clean-orphans", TABLE)
    [shown] = events.folder.glob("state/*/orphans.jsonl")
    shown.write_text("".join(line for line in shown.read_text().splitlines(keepends=True) if left[-1].name not in line))
    events.run("expire", TABLE)
    events.run("expire", TABLE, "--yes")
    assert all(path.exists() for path in left)
    done = events.run("maintain", "run", TABLE, "--op", "orphans", "--yes")
    assert [path for path in left if path.exists()] == [left[-1]]
    assert "1 more are orphans, but were not in the list" in done.stderr


def test_history_knows_runs_that_were_killed_and_no_run_of_another_name(events):
    for i in range(10):
        orphan(events, f"lost-{i}")
    process = subprocess.Popen([needed("FRAZIL_BIN"), "clean-orphans", TABLE, "--yes", "--max-deletes-per-second", "1"],
                               env=events.environment(), cwd=events.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    history = lambda: frames(events.run("maintain", "history", TABLE, "-o", "jsonl", "-q"))
    while not (runs := history()):
        assert process.poll() is None
    assert runs[0]["outcome"] == f"running in process {process.pid}"
    process.kill()
    process.wait()
    assert history()[0]["outcome"] == f"killed: process {process.pid} is gone"
    done = events.run("maintain", "history", TABLE, "--run", "nonsense", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: there is no such run in the history: nonsense\n"


@pytest.mark.parametrize("command", ["expire", "clean-orphans"])
def test_a_pace_must_be_above_zero(events, command):
    done = events.run(command, TABLE, "--max-deletes-per-second", "0", check=False)
    assert done.returncode == 2 and "--max-deletes-per-second: must be a number above 0: 0" in done.stderr


def test_a_slow_deletion_that_is_stopped_is_ended_by_the_next_run(events):
    paths = [orphan(events, f"lost-{i:02}") for i in range(40)]
    process = subprocess.Popen([needed("FRAZIL_BIN"), "clean-orphans", TABLE, "--yes", "--max-deletes-per-second", "5"],
                               env=events.environment(), cwd=events.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not any(not path.exists() for path in paths):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 143
    left = [path for path in paths if path.exists()]
    assert left, "it was stopped before the end"
    events.run("expire", TABLE, "--yes")
    assert all(path.exists() for path in left), "an expiry takes up nothing of an orphan removal"
    events.run("clean-orphans", TABLE, "--yes")
    assert not any(path.exists() for path in paths)
    runs = frames(events.run("maintain", "history", TABLE, "-o", "jsonl", "-q"))
    assert [run["operation"] for run in runs] == ["remove_orphan_files", "expire_snapshots", "remove_orphan_files"]
    runs = [run for run in runs if run["operation"] == "remove_orphan_files"]
    deleted = [len(frames(events.run("maintain", "history", TABLE, "--run", run["run"], "-o", "jsonl", "-q"))) for run in runs]
    assert deleted == [len(left), 40 - len(left)], "each file with its reason in the run that deleted it"


def test_what_was_shown_as_nothing_stays_nothing(events):
    shown = events.run("expire", TABLE, "--older-than", "3650d", "-o", "json")
    assert last_line(shown)["expired_snapshots_count"] == 0
    events.run("clean-orphans", TABLE)
    lost = orphan(events)
    done = events.run("expire", TABLE, "--yes", "-o", "json")
    assert last_line(done)["expired_snapshots_count"] == 0
    done = events.run("clean-orphans", TABLE, "--yes")
    assert lost.exists() and "1 more are orphans, but were not in the list" in done.stderr


def test_too_many_orphans_stop_with_exit_5(events):
    paths = [orphan(events, f"lost-{i}") for i in range(1001)]
    done = events.run("clean-orphans", TABLE, "--yes", check=False)
    assert done.returncode == 5 and "too many orphan files" in done.stderr
    assert all(path.exists() for path in paths)
    events.run("clean-orphans", TABLE, "--yes", "--max-orphan-ratio", "1000", "-q")
    assert not any(path.exists() for path in paths)


def test_a_run_of_everything_in_order_and_its_history(events):
    before = rows(events)
    planned = frames(events.run("maintain", "plan", TABLE, "--option", "min-input-files=2", "-o", "jsonl", "-q"))
    summary = planned.pop()
    assert summary == {"table": TABLE, "steps": 5, "failed_steps": 0}
    assert [row["operation"] for row in planned] == ["compact", "deletes", "vectors", "manifests", "expire"]
    assert all(row["cpu_ms"] is not None and row["duration_ms"] is not None for row in planned), "each says what it takes"
    assert planned[3]["count"] >= 20 and planned[3]["bytes"] > 0 and planned[3]["duration_ms"] > 0
    assert planned[0]["count"] == 1 and "rewrite 20 files" in planned[0]["plan"]
    assert len(data_files(events)) == 20, "a plan changes nothing"
    summary = last_line(events.run("maintain", "run", TABLE, "--option", "min-input-files=2", "-o", "json"))
    assert summary["compact"]["text"] == "rewrote 20 files into 1" and summary["compact"]["outcome"] == "ok"
    assert (summary["compact"]["rewritten_data_files_count"], summary["failed_steps"]) == (20, 0)
    assert summary["expire"]["text"].startswith("would expire")
    assert rows(events) == before
    events.run("maintain", "run", TABLE, "--op", "expire", "--yes")
    runs = frames(events.run("maintain", "history", TABLE, "-o", "jsonl", "-q"))
    assert [run["operation"] for run in runs] == ["expire_snapshots", "rewrite_manifests", "rewrite_deletion_vectors",
                                                  "rewrite_position_delete_files", "rewrite_data_files"]
    assert all(run["outcome"] == "ok" for run in runs)
    assert (runs[4]["measured"]["input_files"], runs[4]["predicted"]["input_files"]) == (20, 20)
    assert runs[1]["measured"]["input_files"] == runs[1]["predicted"]["input_files"] == 0, "one manifest is left by then"
    assert "input_files 20 (expected 20)" in events.run("maintain", "history", TABLE, "-o", "csv", "-q").stdout


def test_explain_says_why(events):
    [row] = frames(events.run("maintain", "explain", TABLE, "--option", "min-input-files=2", "-o", "jsonl", "-q"))
    assert row["chosen"] is True and row["candidates"] == 20 and row["reason"]
    assert row["partition"] == "unpartitioned"
    assert row["rank"] == 1 and row["benefit_ms"] > row["cost_ms"] > 0 and row["worth"].startswith("saves ")
    [row] = frames(events.run("maintain", "explain", TABLE, "--option", "min-input-files=1000", "-o", "jsonl", "-q"))
    assert row["chosen"] is False and row["reason"]
    assert [row[name] for name in ("rank", "benefit_ms", "cost_ms", "worth")] == [None] * 4


def test_undo_takes_back_a_compaction_and_nothing_else(events):
    before = rows(events)
    refused = events.run("undo", TABLE, check=False)
    assert refused.returncode == 1 and "nothing is undone" in refused.stderr
    events.run("compact", TABLE, "--option", "min-input-files=2", "--one-commit")
    events.run("undo", TABLE)
    assert len(data_files(events)) == 20 and rows(events) == before
    runs = frames(events.run("maintain", "history", TABLE, "-o", "jsonl", "-q"))
    assert [run["operation"] for run in runs] == ["undo", "rewrite_data_files", "undo"]
    assert runs[0]["outcome"] == "ok" and "nothing is undone" in runs[2]["outcome"]


def test_doctor_finds_small_files_and_says_what_to_run(events):
    found = {row["check"]: row for row in frames(events.run("doctor", TABLE, "-o", "jsonl", "-q")) if "check" in row}
    assert set(found) == {"integrity", "small files", "deleted rows", "split Puffins", "equality deletes", "manifests", "snapshots",
                          "metadata size"}
    assert found["small files"]["severity"] == "critical" and found["small files"]["command"] == f"frazil compact {TABLE}"
    assert found["small files"]["gain"] == "about 1 data files instead of 20"
    assert found["integrity"]["severity"] == "ok" and found["integrity"]["command"] == ""
    assert events.run("doctor", "--fail-on", "critical", check=False).returncode == 10
    events.run("compact", TABLE, "--option", "min-input-files=2")
    assert events.run("doctor", "--fail-on", "critical", check=False).returncode == 0


def finding(home, check):
    return next(row for row in frames(home.run("doctor", TABLE, "-o", "jsonl", "-q")) if row.get("check") == check)


def follow(home, check):
    """What the doctor says is done as it is printed, and the finding is gone."""
    found = finding(home, check)
    assert found["severity"] != "ok", found
    program, *words = found["command"].split()
    assert program == "frazil"
    home.run(*words)
    after = finding(home, check)
    assert after["severity"] == "ok", (found, after)
    assert home.run("doctor", TABLE, "--fail-on", "warn", check=False).returncode == 0
    return found


def test_the_doctor_s_command_helps_where_partitions_have_two_files_each(home):
    for batch in range(2):
        home.ingest([upsert({"id": batch * 10 + i}, day=f"2026-11-{1 + i:02}", kind="a", v="v") for i in range(10)], TABLE, "--create",
                    "--columns", COLUMNS, "--partition-by", "day", "--property", "frazil.write.landing=never")
    assert len(data_files(home)) == 20
    found = follow(home, "small files")
    assert found["severity"] == "critical" and found["command"] == f"frazil compact {TABLE} --option min-input-files=2"
    assert found["gain"] == "about 10 data files instead of 20" and len(data_files(home)) == 10


def test_the_doctor_s_command_helps_where_a_quarter_of_the_rows_is_deleted(home):
    home.ingest([upsert({"id": i}, day="2026-11-01", kind="a", v="v") for i in range(100)], TABLE, "--create", "--columns", COLUMNS)
    home.sql(f"DELETE FROM {TABLE} WHERE id < 23")
    found = follow(home, "deleted rows")
    assert found["severity"] == "warn" and found["gain"] == "23 rows less to read"


def test_the_doctor_s_command_helps_with_many_young_snapshots(home):
    home.ingest([upsert({"id": i}, day="2026-11-01", kind="a", v="v") for i in range(3)], TABLE, "--create", "--columns", COLUMNS)
    many_snapshots(home, 501)
    found = follow(home, "snapshots")
    assert found["command"] == f"frazil expire {TABLE} --older-than 0s --retain-last 100 --yes"
    assert len(home.metadata(TABLE)["snapshots"]) < 110


@pytest.mark.parametrize("total, shown", [("99999999999999999999999", None), ("12,345", None), ("-1", None), ("12", 12)])
def test_totals_that_others_wrote_are_read_as_numbers_or_not_at_all(events, total, shown):
    metadata = events.metadata(TABLE)
    metadata["snapshots"][-1]["summary"]["total-records"] = total
    copy = events.folder / "copy.metadata.json"
    copy.write_text(json.dumps(metadata))
    [row] = events.sql(f"CALL system.register_table(table => 'demo.copy', metadata_file => 'file://{copy}')")
    assert row["total_records_count"] == shown and row["total_data_files_count"] == 20


def test_unfinished_file_groups_can_be_discarded(events):
    """What makes them is in maintain/rewrite_journal_test.cc; here it is killed once, somewhere in the middle."""
    def journalled():
        return [*events.folder.glob("state/*/journal/*.entry")]

    for at in range(6, 40):
        events.run("compact", TABLE, "--option", "min-input-files=2", check=False, environment={"FRAZIL_KILL_AT_WRITE": str(at)})
        if journalled():
            break
    assert len(journalled()) == 1 and len(data_files(events)) == 20
    done = events.run("compact", TABLE, "--discard-unfinished", "-o", "json")
    assert last_line(done) == {"table": TABLE, "discarded_groups": 1}
    assert not journalled() and len(data_files(events)) == 20
    assert last_line(events.run("compact", TABLE, "--discard-unfinished", "-o", "json"))["discarded_groups"] == 0


def test_doctor_sees_a_missing_file(events):
    [first, *_] = data_files(events)
    local_path(first["file_path"]).unlink()
    done = events.run("doctor", TABLE, "-o", "json", "--fail-on", "critical", check=False)
    assert done.returncode == 10 and last_line(done)["severity"] == "critical"
    assert "missing data file" in done.stdout


def test_progress_for_machines_says_how_fast_and_in_how_much_memory(events):
    done = events.run("compact", TABLE, "--progress", "json", "--memory-limit", "512MiB")
    found = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert found and {line["memory_limit_bytes"] for line in found} == {512 << 20}
    assert {"phase", "groups", "groups_done", "bytes", "bytes_done", "rows_done", "rows_per_second", "seconds", "eta_seconds",
            "memory_bytes"} <= set(found[0])

"""Two processes on one SQLite catalog: nothing is lost, nothing is doubled, no one waits for ever."""

import subprocess

from home import needed

COMMITS = 300


def inserts(table: str, writer: int) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({writer}, {i});\n" for i in range(COMMITS))


def start(home, script) -> subprocess.Popen:
    return subprocess.Popen([needed("FRAZIL_BIN"), "sql", "-q", "-f", str(script)], env=home.environment(), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=home.folder)


def test_each_of_600_commits_of_two_processes_is_there_once(home):
    home.run("sql", "-e", "CREATE NAMESPACE demo; CREATE TABLE demo.shared (writer int, i int) USING iceberg TBLPROPERTIES "
             "('commit.retry.num-retries' = '50', 'commit.retry.min-wait-ms' = '5', 'commit.retry.max-wait-ms' = '50', "
             "'commit.retry.total-timeout-ms' = '600000')")
    writers = []
    for writer in range(2):
        script = home.folder / f"writer-{writer}.sql"
        script.write_text(inserts("demo.shared", writer))
        writers.append(start(home, script))
    for writer in writers:
        _, talk = writer.communicate(timeout=300)
        assert writer.returncode == 0, talk

    assert home.sql("SELECT writer, count(*) AS n, count(DISTINCT i) AS distinct_n, min(i) AS low, max(i) AS high "
                    "FROM demo.shared GROUP BY writer ORDER BY writer") == [
        {"writer": w, "n": COMMITS, "distinct_n": COMMITS, "low": 0, "high": COMMITS - 1} for w in range(2)]
    metadata = home.metadata("demo.shared")
    # Ids are never given twice; merged manifests leave gaps between them (spec section 3.7).
    (ids,) = home.sql("SELECT count(*) AS n, count(DISTINCT _row_id) AS ids, max(_row_id) AS high FROM demo.shared")
    assert (ids["n"], ids["ids"]) == (2 * COMMITS, 2 * COMMITS) and ids["high"] < metadata["next-row-id"]
    assert sorted(s["sequence-number"] for s in metadata["snapshots"]) == list(range(1, 2 * COMMITS + 1))
    # One line of history: each commit stands on the one before it.
    by_number = sorted(metadata["snapshots"], key=lambda s: s["sequence-number"])
    assert [s.get("parent-snapshot-id") for s in by_number] == [None] + [s["snapshot-id"] for s in by_number[:-1]]

"""tests/sql/*.test through the program, with its exit codes, on tables that Spark has made and filled.

The C++ tests run the same files on tables of our own making (tests/conformance/sql_files_test.cc). Here the records above the
first case of a file are Spark's, once for the file; every case then starts from a copy of what Spark left. Files without
such records begin with nothing, and hold the exit codes.
"""

import re
import shutil
import sqlite3

import pytest

import engines
import sql_file
from home import ROOT, Home

FILES = sorted((ROOT / "tests" / "sql").glob("*.test"))
MARK = "next record"


def for_spark(sql: str):
    """A preparing statement in Spark's words, and what frazil adds: Spark's Iceberg has no defaults of columns. The table gets
    frazil's properties, not what Spark would do by itself."""
    if not sql.startswith("CREATE TABLE"):
        return engines.in_sparks_words(sql), []
    table = sql.split()[2]
    defaults = [f"ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT {value}"
                for column, value in re.findall(r"(\w+) \w+ DEFAULT ('[^']*'|\w+)", sql)]
    sql = re.sub(r" DEFAULT ('[^']*'|\w+)", "", sql)
    head, partitioned, rest = sql.partition(" PARTITIONED BY")
    return f"{head} USING iceberg{partitioned}{rest} TBLPROPERTIES ('format-version' = '3')", defaults


class Runner:
    """Runs the records of a case, as few processes as tell their answers apart."""

    def __init__(self, home):
        self.home = home
        self.session = ["USE demo"]  # what a new process must be told first

    def run(self, statements):
        script = f";\nSELECT '{MARK}' AS mark;\n".join(statements)
        prelude = ";\n".join(self.session)
        return self.home.run("sql", "-o", "csv", "-f", "-", check=False,
                             input=f"{prelude};\nSELECT '{MARK}' AS mark;\n{script};\n")

    def check(self, records):
        """Consecutive records of which none has anything to say but rows."""
        done = self.run([record.sql for record in records])
        last = records[-1]
        where = f"line {last.line}: {last.sql}\n{done.stdout}{done.stderr}"
        said = done.stderr.splitlines()
        if last.kind == "error":
            assert done.returncode == last.exit_code, where
            assert re.sub(r"^error: (not supported: )?", "", said[-1]).partition("; while running the statement")[0] == last.expected[0], where
        else:
            assert done.returncode == 0, where
        answers = answers_of(done.stdout)
        for record, rows in zip(records, answers):
            if record.kind == "query":
                order = sorted if record.is_sorted else list
                assert order(rows) == order(record.expected or []), f"line {record.line}: {record.sql}"
        if last.kind in ("ok", "setup") and last.expected:
            assert said[-1].partition(";")[0] == last.expected[0], where
        self.session += [r.sql for r in records if r.kind == "ok" and re.match(r"(SET|RESET|USE)\b", r.sql)]


def answers_of(text: str) -> list:
    """The rows of each statement's answer, without its header."""
    pieces = re.split(rf"^mark\n{MARK}\n", text, flags=re.MULTILINE)[1:]
    return [sql_file.rows_of_csv(piece)[1:] for piece in pieces]


def in_groups(records):
    group = []
    for record in records:
        group.append(record)
        if record.kind == "error" or record.expected and record.kind != "query":
            yield group
            group = []
    if group:
        yield group


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_statements_do_on_sparks_tables_what_they_do_on_ours(tmp_path, spark_session, path):
    mode = "spark"
    setup, cases = sql_file.read(path)
    home = Home(tmp_path / "home", f"files_{path.stem}")
    spark = engines.Spark(home, spark_session)
    home.run("sql", "-e", "CREATE NAMESPACE demo")
    spark.sql("USE {c}.demo")
    for record in setup:
        if record.runs_in(mode):
            statement, ours = for_spark(record.sql)
            spark.sql(statement)
            for addition in ours:
                home.run("sql", "-e", f"USE demo; {addition}")
    spark.sql("USE spark_catalog.default")
    # Error texts and messages name the catalog as the files do.
    with sqlite3.connect(home.catalog_file) as database:
        for table in ("iceberg_tables", "iceberg_namespace_properties"):
            database.execute(f"UPDATE {table} SET catalog_name = 'demo'")
    Home(home.folder, "demo")
    saved = tmp_path / "saved"
    shutil.copytree(home.folder, saved)
    failures, ran = [], 0
    for case in cases:
        if mode in case.skipped:
            continue
        shutil.rmtree(home.folder)
        shutil.copytree(saved, home.folder)
        runner = Runner(home)
        try:
            for group in in_groups([record for record in case.records if record.runs_in(mode)]):
                runner.check(group)
            ran += 1
        except AssertionError as failure:
            failures.append(f"== {case.name} ({path.name}:{case.line})\n{failure}")
    assert not failures, f"{len(failures)} of {len(cases)} cases\n\n" + "\n\n".join(failures)
    assert ran > 0

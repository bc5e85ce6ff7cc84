"""What scripts branch on: the exit codes of docs/reference/cli.md."""

import re
import signal
import subprocess

import pytest

from home import ROOT, needed

# By command: a call that is wrong in one option or argument, and what the message has to name.
WRONG_CALLS = [
    (["nosuch"], "nosuch"),
    (["--nosuch", "version"], "--nosuch"),
    (["--memory-limit", "lots", "version"], "lots"),
    (["--threads", "0", "version"], "threads"),
    (["-o", "papyrus", "version"], "papyrus"),
    (["--log-format", "xml", "version"], "xml"),
    (["--log-level", "loud", "version"], "loud"),
    (["--progress", "some", "version"], "some"),
    (["-X", "limits.memory", "version"], "limits.memory"),
    (["-X", "limits.memry=1GB", "table", "list"], "limits.memry"),
    (["-c", "nowhere.yaml", "table", "list"], "nowhere.yaml"),
    (["sql", "--nosuch"], "--nosuch"),
    (["ingest", "--table", "t.x"], "--from"),
    (["ingest", "--from", "x", "--table", "a..b"], "a..b"),
    (["ingest", "--from", "x", "--table", "t.x", "--format", "xml"], "xml"),
    (["ingest", "--from", "x", "--table", "t.x", "--commit-every", "0"], "commit-every"),
    (["ingest", "--from", "x", "--table", "t.x", "--on-error", "cry"], "cry"),
    (["ingest", "--from", "x", "--table", "t.x", "--property", "novalue"], "novalue"),
    (["ingest", "--from", "x", "--table", "t.x", "--dedupe", "oldest"], "oldest"),
    (["run", "--drain-timeout", "soon"], "soon"),
    (["run", "--dedupe", "oldest"], "oldest"),
    (["run"], "pipelines"),
    (["pipeline"], "subcommand"),
    (["pipeline", "show"], "pipeline"),
    (["pipeline", "reset-offsets", "p", "--to", "somewhere"], "somewhere"),
    (["pipeline", "reset-offsets", "p"], "--to"),
    (["pipeline", "adopt", "p"], "--from"),
    (["verify", "a..b"], "a..b"),
    (["verify", "t.x", "--sample", "-1"], "sample"),
    (["get", "t.x"], "--key"),
    (["get", "t.x", "--key", "=1"], "=1"),
    (["table", "nosuch"], "subcommand"),
    (["index", "status"], "table"),
    (["index", "status", "a..b"], "a..b"),
    (["compact", "t.x", "--target-file-size", "huge"], "huge"),
    (["compact", "t.x", "--strategy", "zigzag"], "zigzag"),
    (["compact", "t.x", "--option", "novalue"], "novalue"),
    (["compact", "t.x", "--option", "nosuch=1"], "nosuch"),
    (["compact", "t.x", "--option", "min-input-files=0"], "min-input-files"),
    (["maintain", "plan", "t.x", "--option", "min-input-files=0"], "min-input-files"),
    (["maintain", "history", "t.x", "--limit", "-5"], "--limit"),
    (["expire", "t.x", "--older-than", "yore"], "yore"),
    (["expire", "t.x", "--retain-last", "99999999999999999999"], "99999999999999999999"),
    (["expire", "t.x", "--snapshot-id", "99999999999999999999"], "99999999999999999999"),
    (["verify", "t.x", "--limit", "-1"], "--limit"),
    (["--memory-limit", "40MB", "table", "list"], "the memory limit is too small: 40MB"),
    (["--memory-limit", "40MB", "compact", "t.x"], "the memory limit is too small: 40MB"),
    (["--memory-limit", "40MB", "sql", "-e", "SELECT 1"], "the memory limit is too small: 40MB"),
    (["--catalog", "nosuch", "doctor"], "nosuch"),
    (["expire", "t.x", "--retain-last", "0"], "retain-last"),
    (["clean-orphans", "t.x", "--older-than", "yore"], "yore"),
    (["clean-orphans", "t.x", "--max-orphan-ratio", "-1"], "max-orphan-ratio"),
    (["maintain", "plan", "t.x", "--op", "nosuch"], "nosuch"),
    (["undo"], "table"),
    (["doctor", "--fail-on", "never"], "never"),
    (["inspect"], "file"),
    (["topic", "list"], "--bootstrap-servers"),
    (["topic", "list", "--bootstrap-servers", "h:1", "-P", "novalue"], "property"),
    (["topic", "peek", "t", "--bootstrap-servers", "h:1", "--offsets", "somewhere"], "somewhere"),
    (["topic", "peek", "t", "--bootstrap-servers", "h:1", "-n", "-1"], "num"),
    (["topic", "list", "--bootstrap-servers", "h:1", "--registry", "ftp://h"], "ftp"),
    (["bench", "gen"], "--topic"),
    (["bench", "gen", "--topic", "t"], "--bootstrap-servers"),
    (["bench", "gen", "--to", "-", "--deletes", "2"], "deletes"),
    (["bench", "consume", "--topic", "t"], "--bootstrap-servers"),
    (["import", "flink"], "file"),
    (["config", "explain"], "key"),
    (["version", "--nosuch"], "--nosuch"),
]


@pytest.mark.parametrize("arguments, named", WRONG_CALLS, ids=[" ".join(call) for call, _ in WRONG_CALLS])
def test_what_is_wrong_with_the_call_ends_with_2_and_is_named(home, arguments, named):
    done = home.run(*arguments, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and named in done.stderr, done.stderr


@pytest.mark.parametrize("arguments, named", [(["--where", "nosuch = 1"], "nosuch"), (["--sort-order", "nosuch"], "nosuch"),
                                              (["--where", "id = = 1"], "where"),
                                              (["--option", "min-file-size-bytes=10GB"], "min-file-size-bytes"),
                                              (["--option", "min-file-size-bytes=1099511627776"], "min-file-size-bytes")])
def test_what_does_not_go_with_the_table_ends_with_2(home, arguments, named):
    home.sql("CREATE NAMESPACE t")
    home.sql("CREATE TABLE t.x (id bigint)")
    for verb in (["compact"], ["maintain", "plan"], ["maintain", "explain"]):
        done = home.run(*verb, "t.x", *arguments, check=False)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("error: ") and named in done.stderr


def test_every_command_is_in_the_list(home):
    listed = re.findall(r"^  ([a-z-]+) ", home.run("--help").stdout.split("Subcommands:")[1], re.M)
    assert len(listed) > 10
    called = {word for call, _ in WRONG_CALLS for word in call}
    assert set(listed) <= called | {"help"}


CODES = [
    (0, ["version"]),
    (1, ["table", "describe", "nowhere.t"]),
    (1, ["sql", "-e", "SELECT * FROM nowhere.t"]),
    (1, ["inspect", "nothing.parquet"]),
    (2, ["-X", "no.such.key=1", "table", "list"]),
    (3, ["topic", "list", "--bootstrap-servers", "127.0.0.1:1", "-P", "socket.connection.setup.timeout.ms=1000"]),
    (5, ["--memory-limit", "64MB", "sql", "-e",
         "SELECT length(string_agg(repeat('x', 1000) || range::VARCHAR)) FROM range(300000)"]),
]


@pytest.mark.parametrize("code, arguments", CODES, ids=[f"{code} {' '.join(call)}" for code, call in CODES])
def test_codes_mean_what_the_table_says(home, code, arguments):
    table = (ROOT / "docs/reference/cli.md").read_text().split("## Exit codes")[1].split("\n## ")[0]
    documented = {int(number) for row in re.findall(r"^\| ([0-9, ]+) \|", table, re.M) for number in row.split(",")}
    assert code in documented
    done = home.run(*arguments, check=False, timeout=180)
    assert done.returncode == code, done.stdout + done.stderr


def test_an_interrupted_script_begins_no_further_statement(home):
    endless = "SELECT count(*) FROM range(100000000000) a, range(1000000) b;\n"
    script = home.folder / "script.sql"
    script.write_text("SELECT 'begun' AS word;\n" + "SET any.key = 'value';\n" * 20_000 + endless)
    process = subprocess.Popen([needed("FRAZIL_BIN"), "sql", "-o", "csv", "-f", str(script)], env=home.environment(), cwd=home.folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert [process.stdout.readline() for _ in range(2)] == ["word\n", "begun\n"]
        process.send_signal(signal.SIGINT)  # statements that run for microseconds hear nothing
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, errors) == (130, "interrupted\n")

"""What people and scripts meet at the command line: exit codes, clean standard output, formats, settings, refusals."""

import csv
import io
import json

import pytest

from home import ROOT, upsert


@pytest.fixture
def people(home):
    home.run("ingest", "--from", home.write_lines([upsert({"id": 1}, name="Åse"), upsert({"id": 2}, name=None),
                                                   upsert({"id": 3}, name="a|b,\"c\"\nd")]),
             "--format", "json-kv", "--table", "demo.people", "--identifier-fields", "id", "--create")
    return home


ALL = "SELECT id, name FROM demo.people ORDER BY id"


def test_version_says_what_the_version_file_says(home):
    version = (ROOT / "VERSION").read_text().strip()
    assert home.run("version").stdout.startswith(f"frazil {version} ")
    assert json.loads(home.run("version", "-o", "json").stdout)["version"] == version


def test_results_are_on_standard_output_and_talk_is_not(people):
    done = people.run("sql", "-e", "CREATE TABLE demo.t (id bigint) USING iceberg; INSERT INTO demo.t VALUES (7); SELECT id FROM demo.t")
    assert list(csv.reader(io.StringIO(done.stdout)))[-1] == ["7"]
    assert "created" not in done.stdout.lower()
    done = people.run("ingest", "--from", people.write_lines([upsert({"id": 4}, name="x")]), "--format", "json-kv",
                      "--table", "demo.people")
    assert done.stdout == "" and "1 events" in done.stderr


def test_a_pipe_gets_csv_with_a_header(people):
    rows = list(csv.reader(io.StringIO(people.run("sql", "-e", ALL).stdout)))
    assert rows == [["id", "name"], ["1", "Åse"], ["2", ""], ["3", 'a|b,"c"\nd']]


def test_json_and_json_lines(people):
    want = [{"id": 1, "name": "Åse"}, {"id": 2, "name": None}, {"id": 3, "name": 'a|b,"c"\nd'}]
    assert json.loads(people.run("sql", "-o", "json", "-e", ALL).stdout) == want
    assert [json.loads(line) for line in people.run("sql", "-o", "jsonl", "-e", ALL).stdout.splitlines()] == want
    assert json.loads(people.run("sql", "-o", "JSON", "-e", ALL + " LIMIT 0").stdout) == []


def test_json_of_nested_values_and_bytes_is_valid(people):
    query = ("SELECT [1, NULL] AS l, {'a': 'x\"y', 'b': DATE '2026-01-02', 'c': [TIMESTAMPTZ '2026-01-02 03:04:05.5+00']} AS s, "
             "MAP {1: '\\xC5\\x00'::BLOB} AS m, '\\xFF'::BLOB AS b, 12.50::DECIMAL(9, 2) AS d, 'nan'::DOUBLE AS f")
    assert json.loads(people.run("sql", "-o", "jsonl", "-e", query).stdout) == {
        "l": [1, None], "s": {"a": 'x"y', "b": "2026-01-02", "c": ["2026-01-02 03:04:05.5+00"]}, "m": {"1": "\\xC5\\x00"},
        "b": "\\xFF", "d": "12.50", "f": "nan"}
    files = json.loads(people.run("sql", "-o", "json", "-e", "SELECT lower_bounds FROM demo.people.files").stdout)
    assert files[0]["lower_bounds"]["1"] == "\\x01" + "\\x00" * 7


def test_markdown_vertical_tsv_table_and_none(people):
    markdown = people.run("sql", "-o", "markdown", "-e", ALL).stdout.splitlines()
    assert markdown == ["| id | name |", "|---|---|", "| 1 | Åse |", "| 2 | NULL |", '| 3 | a\\|b,"c"<br>d |']
    assert people.run("sql", "-o", "tsv", "-e", ALL).stdout == 'id\tname\n1\tÅse\n2\t\n3\ta|b,"c"\\nd\n'
    vertical = people.run("sql", "-o", "vertical", "-e", "SELECT id, name FROM demo.people WHERE id = 2").stdout
    assert "id   | 2\n" in vertical and "name | NULL\n" in vertical
    table = people.run("sql", "-o", "table", "-e", ALL).stdout
    assert "Åse" in table and "│" in table
    assert people.run("sql", "-o", "none", "-e", ALL).stdout == ""


def test_an_unknown_output_format_names_those_that_are(home):
    done = home.run("sql", "-o", "xlsx", "-e", "SELECT 1", check=False)
    assert done.returncode != 0 and "xlsx" in done.stderr and "markdown" in done.stderr and done.stdout == ""


def test_sql_reads_statements_a_file_and_standard_input(people):
    script = people.folder / "script.sql"
    script.write_text("-- two statements; one comment\nSELECT 1 AS a;\nSELECT ';' AS b;\n")
    assert people.run("sql", "-o", "jsonl", "-f", script).stdout == '{"a":1}\n{"b":";"}\n'
    assert people.run("sql", "-o", "jsonl", "-e", "SELECT 1 AS a", "-e", "SELECT 2 AS a").stdout == '{"a":1}\n{"a":2}\n'
    assert people.run("sql", "-o", "jsonl", input="SELECT count(*) AS n FROM demo.people").stdout == '{"n":3}\n'


def test_a_script_stops_at_its_first_failure_and_names_the_line(people):
    script = people.folder / "script.sql"
    script.write_text("SELECT 1 AS a;\n\nSELECT nothing FROM demo.people;\nSELECT 3 AS a;\n")
    done = people.run("sql", "-o", "jsonl", "-f", script, check=False)
    assert done.returncode == 1 and done.stdout == '{"a":1}\n'
    assert "line 3" in done.stderr and "nothing" in done.stderr


def test_exit_codes(people):
    def code(*arguments, **options):
        return people.run(*arguments, check=False, **options).returncode

    assert code("version") == 0
    assert code("sql", "-e", "SELECT * FROM demo.nowhere") == 1
    assert code("table", "describe", "demo.nowhere") == 1
    assert code() == 2
    assert code("dance") == 2
    assert code("sql", "--dance") == 2
    assert code("ingest", "--table", "demo.people") == 2
    assert code("sql", "-e", "SELECT 1", "-X", "limits.memry=1GB") == 2
    assert code("sql", "-e", "SELECT 1", "-c", "/nowhere/frazil.yaml") == 2
    assert code("--help") == 0 and code("ingest", "--help") == 0


def test_an_unknown_setting_is_an_error_with_the_nearest_name(home):
    done = home.run("config", "show", "-X", "limits.memry=1GB", check=False)
    assert "unknown setting 'limits.memry'" in done.stderr and "limits.memory" in done.stderr
    (home.folder / "frazil.yaml").write_text("limits:\n  threads: 2\n  memorry: 1GB\n")
    done = home.run("version", check=False)
    done = home.run("sql", "-e", "SELECT 1", check=False)
    assert done.returncode == 2 and "limits.memory" in done.stderr and "frazil.yaml:3" in done.stderr
    done = home.run("sql", "-e", "SELECT 1", check=False, environment={"FRAZIL_LIMITS__MEMRY": "1GB"})
    assert done.returncode == 2


def test_an_unknown_table_or_column_is_named_with_the_nearest(people):
    done = people.run("sql", "-e", "SELECT * FROM demo.peopel", check=False)
    assert "peopel" in done.stderr and "demo.people" in done.stderr
    done = people.run("sql", "-e", "SELECT naem FROM demo.people", check=False)
    assert "naem" in done.stderr and "name" in done.stderr


def test_settings_are_explained_with_their_origin(home):
    done = home.run("config", "explain", "limits.memory", "-X", "limits.memory=1GB")
    assert "1GB" in done.stdout and "-X" in done.stdout
    done = home.run("config", "explain", "default-catalog")
    assert home.catalog in done.stdout and "frazil.yaml:1" in done.stdout
    done = home.run("config", "explain", "limits.threads", environment={"FRAZIL_LIMITS__THREADS": "1"})
    assert "FRAZIL_LIMITS__THREADS" in done.stdout


def test_secrets_are_not_shown(home):
    with (home.folder / "frazil.yaml").open("a") as file:
        file.write("    s3.secret-access-key: hush\n")
    assert "hush" not in home.run("config", "show").stdout


def test_table_commands(people):
    assert ["demo", "people"] in list(csv.reader(io.StringIO(people.run("table", "list").stdout)))
    assert "people" in people.run("table", "list", "demo").stdout
    assert "bigint" in people.run("table", "describe", "demo.people").stdout.lower()
    snapshots = json.loads(people.run("table", "snapshots", "demo.people", "-o", "json").stdout)
    assert [(s["rows_added"], s["rows_deleted"], s["data_files"], s["deletion_vectors"]) for s in snapshots] == [(3, 0, 1, 0)]
    people.run("ingest", "--from", people.write_lines([upsert({"id": 1}, name="again"), {"key": {"id": 2}, "value": None}]),
               "--format", "json-kv", "--table", "demo.people")
    last = json.loads(people.run("table", "snapshots", "demo.people", "-o", "json").stdout)[-1]
    assert (last["rows_added"], last["rows_deleted"], last["deletion_vectors"], last["rows_live"]) == (1, 2, 1, 2)
    files = json.loads(people.run("table", "files", "demo.people", "-o", "json").stdout)
    assert sorted(f["content"] for f in files) == [0, 0, 1]


def test_what_is_not_there_yet_is_refused_by_name(people):
    done = people.run("sql", "-e", "CREATE VIEW demo.v AS SELECT 1", check=False)
    assert done.returncode == 1 and "create view" in done.stderr.lower() and "not supported" in done.stderr.lower(), done.stderr
    done = people.run("sql", "-e", "CALL system.add_files('demo.people', 'x')", check=False)
    assert done.returncode == 1 and "add_files" in done.stderr and "not supported" in done.stderr.lower(), done.stderr
    for name in ("rows.csv", "rows.avro", "rows.parquet"):
        (people.folder / name).write_text("x")
        done = people.run("ingest", "--from", name, "--table", "demo.people", check=False)
        assert done.returncode == 1 and name.split(".")[1] in done.stderr and "not supported" in done.stderr.lower()
        done = people.run("ingest", "--from", "rows.jsonl", "--format", name.split(".")[1], "--table", "demo.people", check=False)
        assert done.returncode == 1 and name.split(".")[1] in done.stderr
    (people.folder / "frazil.yaml").write_text("pipelines: {a: {topic: x}}\n")
    done = people.run("sql", "-e", "SELECT 1", check=False)
    assert done.returncode == 2 and "pipelines" in done.stderr


def test_pipelines_are_checked_without_connecting(home):
    config = home.folder / "pipelines.yaml"
    config.write_text("""
version: 1
pipelines:
  user-kv:
    source:
      topic: user_kv
      properties.bootstrap.servers: nowhere.invalid:9092
      properties.sasl.jaas.config: "${file:jaas.secret}"
      value.avro-confluent.url: http://me:hush@nowhere.invalid:8081
    sink: {table: apps.user_kv, identifier-fields: [app_id]}
    commit: {interval: 1 min}
""")
    (home.folder / "jaas.secret").write_text("org.apache.kafka.common.security.plain.PlainLoginModule required "
                                             'username="me" password="hush";\n')
    assert "1 pipelines" in home.run("config", "validate", "-c", config).stderr
    shown = home.run("config", "show", "-c", config)
    assert "hush" not in shown.stdout and "PlainLoginModule" not in shown.stdout
    assert "hush" in home.run("config", "show", "--show-secrets", "-c", config).stdout
    explained = home.run("config", "explain", "pipelines.user-kv.commit.interval", "-c", config).stdout
    assert "= 1 min" in explained and "pipelines.yaml:11" in explained
    assert "pipelines.*.commit.interval" in home.run("config", "list").stdout
    config.write_text(config.read_text().replace("1 min", "1s").replace("user_kv\n      properties.boot", "user_kv\n      proprties.boot"))
    wrong = home.run("config", "validate", "-c", config, check=False)
    assert wrong.returncode == 2 and "pipelines.yaml:7" in wrong.stderr
    config.write_text(config.read_text().replace("proprties", "properties"))
    wrong = home.run("config", "validate", "-c", config, check=False)
    assert wrong.returncode == 2 and "commit.interval" in wrong.stderr and "pipelines.yaml:11" in wrong.stderr


def test_two_pipelines_of_one_table_are_refused_however_it_is_named(home):
    def one(name, table):
        return (f"  {name}:\n    source: {{topic: {name}, properties.bootstrap.servers: 'nowhere.invalid:1', value.format: json}}\n"
                f"    sink: {{table: {table}, identifier-fields: [id]}}\n")
    config = home.folder / "pipelines.yaml"
    for first, second in [("apps.two", "apps.two"), ("apps.two", f"{home.catalog}.apps.two")]:
        config.write_text("version: 1\npipelines:\n" + one("a", first) + one("b", second))
        for command in (["config", "validate"], ["run", "--bounded"]):
            refused = home.run(*command, "-c", config, check=False)
            assert refused.returncode == 2 and "'a' and 'b' feed the same table" in refused.stderr, command
    config.write_text("version: 1\npipelines:\n" + one("a", "apps.two") + one("b", "apps.other"))
    home.run("config", "validate", "-c", config)


def test_what_flink_imports_is_valid(home):
    for config in sorted((ROOT / "tests" / "fixtures" / "flink").glob("*.yaml")):
        done = home.run("config", "validate", "-c", config)
        assert "is valid" in done.stderr, config

"""`frazil import flink`: scripts of tests/fixtures/flink become configuration files that frazil takes."""

import pytest

from home import ROOT

FIXTURES = ROOT / "tests" / "fixtures" / "flink"
SCRIPTS = sorted(path.stem for path in FIXTURES.glob("*.sql"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_becomes_pipelines_and_the_rest_is_said(home, name):
    script = FIXTURES / f"{name}.sql"
    done = home.run("import", "flink", script)
    assert done.stdout == (FIXTURES / f"{name}.yaml").read_text()
    notes = (FIXTURES / f"{name}.notes").read_text().splitlines()
    assert done.stderr.splitlines() == [f"{script}: {note}" for note in notes]


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_comes_out_is_a_valid_configuration(home, name):
    file = home.folder / "imported.yaml"
    file.write_text(home.run("import", "flink", FIXTURES / f"{name}.sql").stdout)
    home.run("config", "validate", "-c", file)


def test_a_script_without_a_pipeline_is_refused(home):
    script = home.folder / "other.sql"
    script.write_text("CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); SELECT * FROM t;")
    done = home.run("import", "flink", script, check=False)
    assert done.returncode != 0 and done.stdout == ""
    assert "line 1: statement not carried over: SELECT * FROM t" in done.stderr
    assert "no INSERT from a Kafka table into an Iceberg table" in done.stderr


def test_the_table_that_an_iceberg_connector_names_is_the_target(home):
    script = home.folder / "job.sql"
    script.write_text("""
CREATE TABLE src (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'a;b',
  'properties.bootstrap.servers' = 'b:9092', 'format' = 'json');
CREATE TABLE dst (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'iceberg',
  'catalog-name' = 'prod', 'catalog-database' = 'apps', 'catalog-table' = 'items', 'catalog-type' = 'hive',
  'uri' = 'thrift://h:9083', 'write.upsert.enabled' = 'true');
INSERT INTO dst SELECT id, v FROM src;
""")
    done = home.run("import", "flink", script)
    assert "table: prod.apps.items" in done.stdout and "catalog-" not in done.stdout
    assert "reads several topics" in done.stderr and "'a;b'" in done.stderr
    assert "'catalog-type' of table dst" in done.stderr and "'uri' of table dst" in done.stderr


@pytest.mark.parametrize("endianness, is_said", [("big-endian", False), ("little-endian", True)])
def test_keys_whose_bytes_are_read_the_other_way_round_are_said(home, endianness, is_said):
    script = home.folder / "job.sql"
    script.write_text(f"""
CREATE TABLE src (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'a',
  'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'raw', 'key.fields' = 'id',
  'key.raw.endianness' = '{endianness}', 'value.format' = 'json');
INSERT INTO c.d.dst SELECT id, v FROM src;
""")
    done = home.run("import", "flink", script)
    assert "endianness" not in done.stdout
    said = f"{script}: line 2: 'key.raw.endianness' of table src is not carried over: numbers are big-endian"
    assert (said in done.stderr.splitlines()) == is_said


@pytest.mark.parametrize("text, message", [
    ("CREATE TABLE t (a INT WITH", "line 1: expected ')'"),
    ("SELECT 'open", "quoted text never ends, from line 1"),
    ("-- x\n/* open", "comment never ends, from line 2"),
    ("INSERT INTO t SELECT a WHERE", "line 1: expected FROM"),
])
def test_what_is_not_understood_names_its_line(home, text, message):
    script = home.folder / "broken.sql"
    script.write_text(text)
    done = home.run("import", "flink", script, check=False)
    assert done.returncode != 0 and message in done.stderr

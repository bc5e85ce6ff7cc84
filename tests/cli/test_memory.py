"""--memory-limit holds for the whole process while a statement loads many rows from files, into however many partitions."""

import resource
import subprocess

import pytest

from home import needed
from process_memory import Memory

ROWS = 3_000_000
LIMIT_MB = 256


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The same rows as Parquet and as CSV; what they hold does not compress well, and nothing of it repeats."""
    folder = tmp_path_factory.mktemp("sources")
    rows = f"SELECT i AS id, md5(i::VARCHAR) AS name, i * 1.5 AS price, TIMESTAMP '2026-01-01' + to_seconds(i) AS moment FROM range({ROWS}) t(i)"
    for kind in ("parquet", "csv"):
        subprocess.run([needed("FRAZIL_BIN"), "-q", "sql", "-e", f"COPY ({rows}) TO '{folder}/rows.{kind}'"], check=True, cwd=folder,
                       env={"FRAZIL_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}, stdin=subprocess.DEVNULL)
    return folder


def peak_of_loading(home, statement, max_descriptors=1024):
    """Runs it below the limit."""
    def limit_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (max_descriptors, max_descriptors))
    process = subprocess.Popen([needed("FRAZIL_BIN"), "-q", "--memory-limit", f"{LIMIT_MB}MB", "sql", "-e", statement],
                               env=home.environment(), cwd=home.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, preexec_fn=limit_descriptors)
    memory = Memory(process.pid)
    memory.start()
    error = process.stderr.read()
    process.wait()
    memory.join()
    assert process.returncode == 0, error
    peak = memory.figures()
    print(peak)
    assert 0 < peak["anonymous_mb"] <= LIMIT_MB, peak
    return peak


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("partitions", [1, 64])
def test_loading_files_stays_below_the_limit(home, sources, kind, partitions):
    home.sql("CREATE NAMESPACE IF NOT EXISTS shop")
    home.sql("CREATE TABLE shop.loaded (id bigint, name string, price double, moment timestamp) USING iceberg"
             + (f" PARTITIONED BY (bucket({partitions}, id))" if partitions > 1 else ""))
    peak = peak_of_loading(home, f"INSERT INTO shop.loaded SELECT * FROM read_{kind}('{sources}/rows.{kind}')")
    if kind == "parquet":  # with the pages of the libraries, some 70 MB; DuckDB's CSV buffers of 32 MB each leave no room for them
        assert 0 < peak["resident_mb"] <= LIMIT_MB, peak
    found = home.sql("SELECT count(*) AS n, count(DISTINCT id) AS ids, min(name) AS name FROM shop.loaded")[0]
    assert found["n"] == found["ids"] == ROWS
    files = home.sql("SELECT count(*) AS n FROM shop.loaded.files")[0]["n"]
    assert files == partitions  # many partitions make no more files: row groups are closed early


def test_rows_of_thousands_of_partitions_in_no_order_make_a_file_in_each(home):
    """A file that is open in each of them would take more memory than there is, and more descriptors."""
    rows, partitions = 300_000, 5_000
    home.sql("CREATE NAMESPACE IF NOT EXISTS shop")
    home.sql("CREATE TABLE shop.spread (id bigint, name string, price double, part int) USING iceberg PARTITIONED BY (part)")
    source = f"SELECT i AS id, md5(i::VARCHAR) AS name, i * 1.5 AS price, CAST(i * 7919 % {partitions} AS INTEGER) AS part FROM range({rows}) t(i)"
    peak_of_loading(home, f"INSERT INTO shop.spread {source}", max_descriptors=512)
    assert home.sql("SELECT count(*) AS files, count(DISTINCT partition) AS partitions FROM shop.spread.files") == [
        {"files": partitions, "partitions": partitions}]
    assert home.sql("SELECT count(*) AS n, count(DISTINCT id) AS ids FROM shop.spread") == [{"n": rows, "ids": rows}]
    assert home.sql(f"SELECT count(*) AS n FROM (SELECT * FROM shop.spread EXCEPT {source})") == [{"n": 0}]

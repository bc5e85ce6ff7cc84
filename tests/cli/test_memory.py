"""--memory-limit holds for the whole process while a statement loads many rows from files, into however many partitions."""

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


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("partitions", [1, 64])
def test_loading_files_stays_below_the_limit(home, sources, kind, partitions):
    home.sql("CREATE NAMESPACE IF NOT EXISTS shop")
    home.sql("CREATE TABLE shop.loaded (id bigint, name string, price double, moment timestamp) USING iceberg"
             + (f" PARTITIONED BY (bucket({partitions}, id))" if partitions > 1 else ""))
    process = subprocess.Popen([needed("FRAZIL_BIN"), "-q", "--memory-limit", f"{LIMIT_MB}MB", "sql", "-e",
                                f"INSERT INTO shop.loaded SELECT * FROM read_{kind}('{sources}/rows.{kind}')"],
                               env=home.environment(), cwd=home.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    memory = Memory(process.pid)
    memory.start()
    error = process.stderr.read()
    process.wait()
    memory.join()
    assert process.returncode == 0, error
    peak = memory.figures()
    print(peak)
    assert 0 < peak["anonymous_mb"] <= LIMIT_MB, peak
    if kind == "parquet":  # with the pages of the libraries, some 70 MB; DuckDB's CSV buffers of 32 MB each leave no room for them
        assert 0 < peak["resident_mb"] <= LIMIT_MB, peak
    found = home.sql("SELECT count(*) AS n, count(DISTINCT id) AS ids, min(name) AS name FROM shop.loaded")[0]
    assert found["n"] == found["ids"] == ROWS
    files = home.sql("SELECT count(*) AS n FROM shop.loaded.files")[0]["n"]
    assert files == partitions  # many partitions make no more files: row groups are closed early

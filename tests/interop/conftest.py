import os
import time
import types

import pytest

import engines
from home import needed

os.environ["TZ"] = "UTC"
time.tzset()


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory):
    needed("FRAZIL_SPARK_JAR")
    needed("FRAZIL_SQLITE_JDBC_JAR")
    session = engines.spark_session(tmp_path_factory.mktemp("spark"), engines.QUICK_START)
    yield session
    session.stop()


@pytest.fixture
def spark(home, spark_session):
    return engines.Spark(home, spark_session)


@pytest.fixture
def all_engines(home, spark):
    """frazil first: the others are compared with it."""
    frazil, others = engines.Frazil(home), [spark, engines.PyIceberg(home), engines.DuckDB(home)]
    return types.SimpleNamespace(frazil=frazil, spark=spark, pyiceberg=others[1], duckdb=others[2], all=[frazil, *others])

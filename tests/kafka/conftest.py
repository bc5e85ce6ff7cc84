import pytest

import engines
from home import needed
from kafka_broker import Broker
from registry import Registry


@pytest.fixture(scope="session")
def _broker(tmp_path_factory):
    broker = Broker(tmp_path_factory.mktemp("kafka")).start()
    yield broker
    broker.kill()


@pytest.fixture
def broker(_broker):
    """One broker for all tests; a test that ends it gives the next one a running one again."""
    if not _broker.is_running:
        _broker.start()
    _broker.thaw()
    return _broker


@pytest.fixture(scope="session")
def _registry(tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("registry")).start()
    yield registry
    registry.kill()


@pytest.fixture
def registry(_registry):
    """One schema registry for all tests: use subjects of your own."""
    if not _registry.is_running:
        _registry.start()
    _registry.thaw()
    return _registry


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory):
    needed("FRAZIL_SPARK_JAR")
    session = engines.spark_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()

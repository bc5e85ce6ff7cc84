import itertools
import os

import pytest

from home import Home

_homes = itertools.count(1)


@pytest.fixture
def home(tmp_path) -> Home:
    # A name of its own: Spark knows each test's catalog by it.
    return Home(tmp_path / "home", f"c{os.getpid()}_{next(_homes)}")

"""The scenarios of tests/support/scenarios.py, each run by frazil on one table and by Spark on another: every engine reads both
tables alike, and both hold the same rows."""

import pytest

import scenarios
from scenarios import OURS, THEIRS, check, run_by_frazil, run_by_spark
from table_layout import check_layout


@pytest.mark.parametrize("name", scenarios.ALL)
def test_every_engine_reads_what_frazil_and_spark_made_of_it(home, all_engines, name):
    rows = []
    if name not in scenarios.ONLY_SPARKS:
        run_by_frazil(home, name, OURS)
        rows.append(check(home, all_engines, OURS, name))
        if home.metadata(OURS)["format-version"] > 2 and "upgraded" not in name:
            check_layout(all_engines.pyiceberg.load(OURS))
    if name not in scenarios.ONLY_OURS:
        run_by_spark(all_engines.spark, name, THEIRS)
        rows.append(check(home, all_engines, THEIRS, name))
    assert rows[0] == rows[-1]

"""Spark 3.5 in a process of its own (another version of pyspark than the tests'): a JSON request a line, a JSON answer a line.

{"home": {...}, "sql": TEXT} answers the rows; {"home": {...}, "table": NAME, "columns": [...]} what engines.Spark.rows gives.
Started by engines.Spark35 with the environment that Spark 3.5 needs.
"""

import json
import pathlib
import sys
import types

import pyarrow as pa

import engines


class Spark(engines.Spark):
    def arrow(self, statement):  # toArrow() came with Spark 4
        batches = self.run(statement, lambda frame: frame._collect_as_arrow())
        return pa.Table.from_batches(batches) if batches else pa.table({})


def main():
    answers = sys.stdout
    sys.stdout = sys.stderr
    session = engines.spark_session(pathlib.Path(sys.argv[1]), engines.QUICK_START)
    print(json.dumps({"version": session.version}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            spark = Spark(types.SimpleNamespace(**request["home"]), session)
            if "sql" in request:
                answer = {"rows": [[engines.plain(value) for value in row] for row in spark.sql(request["sql"])]}
            else:
                answer = {"rows": spark.rows(request["table"], request["columns"])}
        except AssertionError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), file=answers, flush=True)
    session.stop()


if __name__ == "__main__":
    main()

"""The scripts of examples/, statement by statement: Spark reads the same rows after each one."""

import json
import re

import engines
from home import ROOT, local_path


def statements(script: str) -> list:
    text = re.sub(r"^\s*--.*$", "", (ROOT / "examples" / script).read_text(), flags=re.MULTILINE)
    return [piece.strip() for piece in text.split(";") if piece.strip()]


def columns_of(home, table):
    return [row["col_name"] for row in home.sql(f"SHOW COLUMNS IN {table}")]


def as_python(rows):
    """frazil prints a moment's zone as +00, Python as +00:00."""
    return engines.in_order([re.sub(r":(\d\d)\+00$", r":\1+00:00", v) if isinstance(v, str) else v for v in row] for row in rows)


def run_and_compare(home, spark, script, table):
    """Runs a script; the answers of its statements by their first words, and what Spark last read."""
    frazil = engines.Frazil(home)
    answers, exists = [], False
    for statement in statements(script):
        done = home.run("sql", "-o", "csv", "-e", statement)
        answers.append((statement, done.stdout.splitlines(), done.stderr.strip()))
        exists = exists or statement.startswith("CREATE TABLE")
        if not exists or re.match(r"SELECT|SHOW", statement):
            continue  # nothing has changed
        names = columns_of(home, table) + ([engines.ROW_ID, engines.CHANGED] if home.metadata(table)["current-snapshot-id"] else [])
        assert spark.rows(table, names) == as_python(frazil.rows(table, names)), statement
    return answers


def answer(answers, start, occurrence=0):
    return [a for a in answers if a[0].startswith(start)][occurrence]


def test_first_table(home, spark):
    table = "shop.tbl_mor"
    answers = run_and_compare(home, spark, "first_table.sql", table)
    assert answer(answers, "INSERT")[2] == f"inserted 10 rows into {table}"
    assert answer(answers, "DELETE")[2] == f"deleted 3 rows from {table}"
    assert len(answer(answers, "SELECT * FROM shop.tbl_mor ORDER", 0)[1]) == 1 + 10
    assert len(answer(answers, "SELECT * FROM shop.tbl_mor ORDER", 1)[1]) == 1 + 7
    assert answer(answers, "SELECT operation")[1] == ["operation,added_records,added_dvs,rows_deleted", "append,10,,", "delete,,1,3"]
    (header, vector) = answer(answers, "SELECT * FROM shop.tbl_mor.delete_files")[1]
    assert "referenced_data_file" in header and "lower_bounds" not in header
    assert dict(zip(header.split(","), vector.split(",")))["record_count"] == "3"

    metadata = home.metadata(table)
    assert metadata["next-row-id"] == 10
    assert [(s["first-row-id"], s["added-rows"]) for s in metadata["snapshots"]] == [(0, 10), (10, 0)]
    assert metadata["properties"]["write.write.mode"] == "merge-on-read"

    # What the script ends with can be looked into.
    last = answer(answers, "SELECT file")[1][1]
    assert local_path(last) == local_path(home.metadata_location(table))
    report = home.run("inspect", last).stdout
    assert "next-row-id: 10" in report and "added-dvs: 1" in report

    # The vector, as the metadata table, the command and the file itself show it.
    shown = dict(zip(header.split(","), vector.split(",")))
    (listed,) = [file for file in json.loads(home.run("table", "files", table, "-o", "json").stdout) if file["content"] == 1]
    (blob,) = json.loads(home.run("inspect", listed["file_path"], "-o", "json").stdout)["blobs"]
    assert blob["type"] == "deletion-vector-v1" and blob["cardinality"] == listed["record_count"] == 3
    assert (blob["offset"], blob["length"]) == (listed["content_offset"], listed["content_size_in_bytes"])
    assert (shown["content_offset"], shown["content_size_in_bytes"]) == (str(blob["offset"]), str(blob["length"]))
    assert blob["properties"]["referenced-data-file"] == listed["referenced_data_file"] == shown["referenced_data_file"]
    assert "lower_bounds" in home.run("sql", "-o", "csv", "-e", f"SELECT *, lower_bounds FROM {table}.delete_files").stdout

    # A delete that leaves no row of a file takes the file away, and says so.
    done = home.run("sql", "-e", f"DELETE FROM {table}")
    assert done.stderr.strip() == f"deleted 7 rows from {table}; 1 data file removed whole, without a deletion vector"
    assert json.loads(home.run("table", "files", table, "-o", "json").stdout) == []
    assert spark.sql(f"SELECT count(*) FROM {{c}}.{table}") == [(0,)]


def test_evolving_table(home, spark):
    table = "shop.orders"
    answers = run_and_compare(home, spark, "evolving_table.sql", table)
    assert answer(answers, "SHOW PARTITIONS")[1] == ["partition", "category=car", "category=clothes", "category=kitchen", "category=sport"]
    assert {line.split(",")[2] for line in answer(answers, "SELECT order_id, price, discount")[1][1:]} == {"0.00"}
    assert answer(answers, "SELECT order_id, discount FROM")[1][1:] == ["10,0.00", "11,5.00"]

    # Updated rows keep their ids: those of the order in which the rows came.
    updated = [line.split(",") for line in answer(answers, "SELECT order_id, discount, _row_id")[1][1:]]
    ids = {row[0]: int(row[2]) for row in updated}
    assert len(set(ids.values())) == 11 and all(ids[str(i)] == i - 1 for i in range(1, 12))
    sequence = {row[0]: int(row[3]) for row in updated}
    assert {sequence[i] for i in ("2", "5", "10")} == {12} and max(v for k, v in sequence.items() if k not in ("2", "5", "10")) == 11
    merged = [line.split(",") for line in answer(answers, "SELECT order_id, price, _row_id")[1][1:]]
    assert {row[0]: int(row[2]) for row in merged}.items() >= ids.items() and len(merged) == 12
    assert {row[0] for row in merged if row[3] == "13"} == {"3", "7", "12"}

    assert answer(answers, "SELECT count(*)", 0)[1][1].startswith("12,")
    assert answer(answers, "SELECT count(*)", 1)[1][1] == "10,480.99"
    assert "discount" not in answer(answers, "SELECT * FROM shop.orders.tag")[1][0]
    evolved = answer(answers, "SELECT * FROM shop.orders ORDER")[1]
    assert evolved[0].startswith("order_id,price,product_name")
    # The merge had brought both orders of cars into one file: it goes whole.
    assert answer(answers, "SELECT operation")[1][1:] == ["delete,1,", "delete,,1"]

    # The old state, as Spark sees it.
    assert spark.sql("SELECT count(*), sum(price) FROM {c}.shop.orders VERSION AS OF 'before_sale'")[0][0] == 10

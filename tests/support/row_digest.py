"""A hash of all rows of a table, equal for equal rows in any order, whoever read them."""

import hashlib

import pyarrow as pa
import pyarrow.compute as pc


def row_texts(table: pa.Table) -> list:
    """Each row as one text; null is told apart from every value."""
    columns = []
    for column in table.columns:
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        text = column.cast(pa.string())
        columns.append(pc.fill_null(pc.binary_join_element_wise("=", text, ""), "null"))
    return pc.binary_join_element_wise(*columns, "\x1f").to_pylist()


def digest(table: pa.Table, schema: pa.Schema) -> str:
    """The table is cast to `schema` first, since engines differ in widths and string types, never in values."""
    table = table.select(schema.names).cast(schema)
    return hashlib.sha256("\n".join(sorted(row_texts(table))).encode()).hexdigest()

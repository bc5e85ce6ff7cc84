"""The files of tests/sql, read: records, cases, and what the program answered to them (tests/sql/README.md)."""

import dataclasses
import pathlib
import re


@dataclasses.dataclass
class Record:
    kind: str  # ok, setup, error, query
    line: int
    sql: str
    expected: list  # None when nothing stands behind ----
    is_sorted: bool = False
    exit_code: int = 1
    skipped: tuple = ()
    only: tuple = ()

    def runs_in(self, mode: str) -> bool:
        return mode not in self.skipped and (not self.only or mode in self.only)


@dataclasses.dataclass
class Case:
    name: str
    line: int
    records: list
    skipped: list


def read(path: pathlib.Path):
    """(records above the first case, cases)."""
    setup, cases, skipped, only = [], [], [], []
    lines = path.read_text().splitlines()
    at = 0

    def block():
        nonlocal at
        taken = []
        while at < len(lines) and lines[at] and lines[at] != "----":
            taken.append(lines[at])
            at += 1
        return taken

    while at < len(lines):
        line, number = lines[at], at + 1
        at += 1
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] == "==":
            cases.append(Case(line[3:], number, [], []))
        elif words[0] == "skipcase":
            cases[-1].skipped.append(words[1])
        elif words[0] in ("skipif", "onlyif"):
            (skipped if words[0] == "skipif" else only).append(words[1])
        else:
            assert words[0] in ("statement", "query"), f"{path}:{number}: unknown record: {line}"
            record = Record("query" if words[0] == "query" else words[1], number, "\n".join(block()), None, words[-1] == "rowsort",
                            int(words[2]) if words[1:2] == ["error"] and len(words) > 2 else 1, tuple(skipped), tuple(only))
            if at < len(lines) and lines[at] == "----":
                at += 1
                record.expected = block()
            skipped, only = [], []
            (cases[-1].records if cases else setup).append(record)
    return setup, cases


def rows_of_csv(text: str) -> list:
    """Rows of `-o csv`, header first, as the files write them: cells between bars, null (nothing, unquoted) as NULL."""
    rows, cells, at = [], [], 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"' or text[end + 1] == '"':
                end += 2 if text[end] == '"' else 1
            cells.append(text[at + 1:end].replace('""', '"'))
            at = end + 1
        else:
            end = re.compile("[,\n]").search(text, at).start()
            cells.append(text[at:end] or "NULL")
            at = end
        if text[at] == "\n":
            rows.append("|".join(cells))
            cells = []
        at += 1
    return rows

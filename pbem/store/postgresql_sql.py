"""SQLite's SQL in PostgreSQL's words: statements, and those of migration scripts.

The case of addresses does not matter in either: SQLite has a collation for that, PostgreSQL indexes of `lower`.
"""

from __future__ import annotations

import re
from functools import cache

_WORDS = (("%", "%%"), ("rowid", "ctid"), ("group_concat(", "string_agg("), ("?", "%s"))
_PHRASES = (
    (re.compile(r"(?<![\w.:%])([\w.:%]++) = ([\w.:%]++) COLLATE NOCASE"), r"lower(\1) = lower(\2)"),
    (re.compile(r"\(address COLLATE NOCASE"), "(lower(address)"),
    (
        re.compile(r"json_extract\(CAST\(([\w.]++) AS TEXT\), '\$\.(\w++)'\)"),
        r"(convert_from(\1, 'UTF8')::json->>'\2')",
    ),
    (re.compile(r"json_extract\((\w++), '\$\.(\w++)'\)"), r"(\1::json->>'\2')"),
    (re.compile(r"(?<![:\w]):([a-z_]\w*+)"), r"%(\1)s"),
)


@cache
def in_postgresql(sql: str) -> str:
    """A statement, with parameters as psycopg writes them."""
    for ours, theirs in _WORDS:
        sql = sql.replace(ours, theirs)
    for phrase, theirs in _PHRASES:
        sql = phrase.sub(theirs, sql)
    return sql


_WORDS_OF_TABLES = (
    (" TEXT", ' TEXT COLLATE "C"'),  # ordered by octets, as in SQLite, whatever the version of the C library
    (" BLOB", " BYTEA"),
    (" INTEGER", " BIGINT"),
    (" REAL", " DOUBLE PRECISION"),
)
_TABLE = re.compile(r"CREATE TABLE (\w++) \((.*)\n\) STRICT(?:, WITHOUT ROWID)?", re.DOTALL)
_KEY = re.compile(r",\n    PRIMARY KEY \(address, ([\w, ]++)\)")
_ADDRESS = re.compile(r"address TEXT(?P<must> NOT NULL)?(?P<key> UNIQUE| PRIMARY KEY)? COLLATE NOCASE")
_INDEXED = re.compile(r"(?<!\w)(?:address(?!\w| IS)|(\w++) COLLATE NOCASE)")


def migration_statement(statement: str) -> str:
    """A statement of a migration script, with the same tables, columns and keys; two if a key becomes an index."""
    if table := _TABLE.fullmatch(statement):
        # A key with an address becomes an index, because the case of addresses does not matter.
        name, columns, keys = table[1], table[2], ""
        columns = columns.replace("PRIMARY KEY AUTOINCREMENT", f"PRIMARY KEY DEFAULT next_number('{name}')")
        if address := _ADDRESS.search(columns):
            columns = _ADDRESS.sub(
                "address TEXT" + (" NOT NULL" if address["must"] or address["key"] else ""), columns
            )
            more = _KEY.search(columns)
            columns = _KEY.sub("", columns)
            if address["key"] or more:
                keys = ";\n" + _index(f"CREATE UNIQUE INDEX ON {name} (address{f', {more[1]}' if more else ''})")
        statement = f"CREATE TABLE {name} ({columns}\n){keys}"
    elif statement.startswith(("CREATE INDEX", "CREATE UNIQUE INDEX")):
        statement = _index(statement)
    for ours, theirs in _WORDS_OF_TABLES:
        statement = statement.replace(ours, theirs)
    return statement


def _index(statement: str) -> str:
    return _INDEXED.sub(lambda part: f"lower({part[1] or 'address'})", statement)

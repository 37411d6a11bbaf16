"""Ways to change a valid file: bytes, words, lines, JSON, members of an archive, tables."""

import io
import json
import re
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from random import Random
from typing import Any

Way = Callable[[Random, bytes], bytes]

# Words of a text that have broken parsers.
_WORDS = [
    *b"0 -1 1e400 nan inf -inf NaN 9223372036854775808 2147483648".split(),
    *(b"1" + b"0" * 40, b"9" * 5_000),
    *b"-0.0 4294967295 true null \"\" '' [] {}".split(),
    *(b'"\\ud800"', b'"\\u001b[2J\\u202e"', b'"\\u0000"', b'"' + b"a" * 300 + b'"', b'"*"'),
    *(b'"/dev/zero"', b'"../../x"', b'"$x^{$"', b"[[", b"]]", b"[" * 200, b"{" * 200, b"(" * 200),
    *(b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf"),
    *b"= : , \" ' \\ # @ 1979-05-27 ::error::x".split(),
    *(b"root ::= ", b'"a"?' * 50, b"{0,65536}", b"<[99]>", b"$k"),
]
_WORD = re.compile(rb'"(?:[^"\\\n]|\\.)*"|-?\d[\w.+-]*|\w+|[^\w\s]')
_NUMBERS = [0, 1, -1, 3, 127, 255, 1 << 15, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 62]
_NUMBERS += [(1 << 63) - 1, 1 << 63, (1 << 64) - 1]
_VALUES: list[Any] = [
    *(None, True, 0, -1, 1, 7, 1 << 31, (1 << 63) - 1, 1 << 63, 10**400, 1.5, -0.0, 1e308, 1e-320),
    *("", "a", "nan", "-inf", "\x1b[2J\u202e", "a\nb\r::error::x", "x" * 300, "\ud800", "$x^{$"),
    *([], {}, [[]], [None], ["a"], {"": 0}, [0] * 40, {"a": {"b": {"c": []}}}, float("nan")),
]


def flip(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) or 1)
    before = data[at] if data else 0
    return data[:at] + bytes([before ^ 1 << random.randrange(8)]) + data[at + 1 :]


def cut(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def drop(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def repeat(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    times = random.choice((2, 2, 3, 40))
    return data[:start] + data[start:end] * times + data[end:]


def swap(random: Random, data: bytes) -> bytes:
    (a, b), (c, d) = sorted((_span(random, data), _span(random, data)))
    return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def number(random: Random, data: bytes) -> bytes:
    """Replace some bytes by a number of two, four or eight bytes."""
    size, code = random.choice([(2, "<H"), (4, "<I"), (4, "<I"), (8, "<Q"), (8, "<Q")])
    at = random.randrange(max(1, len(data) - size))
    grown = random.choice(_NUMBERS) % (1 << 8 * size)
    return data[:at] + struct.pack(code, grown) + data[at + size :]


def word(random: Random, data: bytes) -> bytes:
    """Replace a word by another one, or insert one next to it."""
    words = list(_WORD.finditer(data))
    if not words:
        return data + random.choice(_WORDS)
    place = random.choice(words)
    new = random.choice((random.choice(_WORDS), random.choice(words)[0]))
    end = place.end() if random.random() < 0.8 else place.start()
    return data[: place.start()] + new + data[end:]


def line(random: Random, data: bytes) -> bytes:
    """Delete, duplicate or move a line."""
    lines = data.split(b"\n")
    moved = lines.pop(random.randrange(len(lines)))
    for _ in range(random.choice((0, 1, 2))):
        lines.insert(random.randrange(len(lines) + 1), moved)
    return b"\n".join(lines)


def value(random: Random, data: bytes) -> bytes:
    """Change a value, or delete or rename a key, in a line of JSON."""
    lines = data.split(b"\n")
    at = random.choice([i for i, text in enumerate(lines) if text.strip()] or [0])
    with suppress(ValueError, RecursionError):
        tree = [json.loads(lines[at])]
        _change(random, tree)
        lines[at] = json.dumps(tree[0]).encode()
    return b"\n".join(lines)


def _change(random: Random, tree: Any) -> None:
    """Walk down a random path and change something there."""
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = random.choice(keys)
    child = tree[key]
    if isinstance(child, dict | list) and child and random.random() < 0.8:
        _change(random, child)
    elif random.random() < 0.8:
        tree[key] = random.choice(_VALUES)
    elif isinstance(tree, dict):
        kept = tree.pop(key)
        if random.random() < 0.5:
            tree[random.choice(["", "\x1b[2J", "x" * 300, str(random.choice(keys))])] = kept


TEXT: tuple[Way, ...] = (flip, cut, drop, repeat, swap, word, word, word, line, line)
JSON: tuple[Way, ...] = (flip, cut, drop, repeat, word, line, value, value, value, value)
BINARY: tuple[Way, ...] = (flip, flip, cut, drop, repeat, swap, number, number, number, word)


def member(random: Random, data: bytes) -> bytes:
    """Change a file in an archive and pack it again, so that its checksum is right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    at = random.randrange(len(members))
    name, content = members.pop(at)
    if random.random() < 0.9:
        members.insert(at, (name, random.choice(BINARY)(random, content)))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def cell(random: Random, data: bytes) -> bytes:
    """Change a value, delete a row or change the structure of an SQLite file."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        with suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
            table = random.choice([row[0] for row in connection.execute(_TABLES)])
            column = random.choice(
                [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            )
            if random.random() < 0.1:
                connection.execute(random.choice(_SHAPES).format(table=table, column=column))
            else:
                new = random.choice([*_CELLS, random.choice(_NUMBERS) % (1 << 63)])
                some = random.choice(("1", "rowid = 1", "rowid % 2"))
                connection.execute(
                    f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {some}", (new,)
                )
            connection.commit()
        return connection.serialize()


_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_SHAPES = [
    *("DELETE FROM {table}", "DROP TABLE {table}", "ALTER TABLE {table} RENAME TO other"),
    *("ALTER TABLE {table} ADD COLUMN x", "CREATE VIEW v AS SELECT * FROM {table}"),
    *("CREATE INDEX i ON {table} ({column})", "PRAGMA user_version = 9"),
    "PRAGMA application_id = 9",
]
_CELLS = [
    *(None, 0, -1, 1.5, float("inf"), -1e308, 5e-324, b"\xff"),
    *("", "a", "\x1b[2J\u202e", "x" * 9_000, "$x^{$", "a\nb\r::error::x"),
    *("timing", "ns", "identical", "2026-01-01"),
]


def changed(random: Random, samples: list[bytes], ways: tuple[Way, ...]) -> bytes:
    """Return a sample, changed once or a few times; sometimes a few words instead of a sample."""
    if random.random() < 0.05:
        return b"".join(random.choices(_WORDS, k=random.randrange(25)))
    data = random.choice(samples)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        with suppress(Exception):  # an earlier way broke the archive or the tables
            data = random.choice(ways)(random, data)
    return data


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    longest = random.choice((1, 4, 16, 64, 1_024))
    return start, min(len(data), start + random.randrange(longest + 1))

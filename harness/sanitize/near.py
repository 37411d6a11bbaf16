"""Suggest a known name for an unknown one."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

_CUTOFF = 0.6  # difflib's own cutoff
_MOST = 3
_LONGEST = 200  # characters: its time grows with the product of both lengths


def meant(word: str, names: Iterable[str], offered: Iterable[str] = ()) -> str:
    """Return "did you mean ...?"; if no name is close, the list of all names. offered: list these
    names instead."""
    names = [*names]
    return did_you_mean(word, names) or f"use {', '.join([*offered] or names)}"


def did_you_mean(
    word: str, candidates: Iterable[str], full: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return "did you mean top_p or top_k?", or "" if no name is close. full: names to suggest for
    short names that people type."""
    import difflib  # seldom needed

    if len(word) > _LONGEST:
        return ""
    matches = difflib.get_close_matches(word, sorted({*candidates, *full}), _MOST, _CUTOFF)
    names = dict.fromkeys(full.get(name, name) for name in matches)
    return f"did you mean {' or '.join(names)}?" if names else ""

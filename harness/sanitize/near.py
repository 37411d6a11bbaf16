"""Suggest a known name for an unknown one."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

_ALIKE = 0.6  # difflib's own cutoff
_SHOWN = 3
_LONGEST = 200  # characters: its time grows with the product of both lengths


def meant(word: str, known: Iterable[str], offered: Iterable[str] = ()) -> str:
    """Return "did you mean ...?"; if no name is close, the list of all names. offered: list these
    names instead."""
    known = [*known]
    return did_you_mean(word, known) or f"use {', '.join([*offered] or known)}"


def did_you_mean(
    word: str, known: Iterable[str], full: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return "did you mean top_p or top_k?", or "" if no name is close. full: names to suggest for
    short names that people type."""
    import difflib  # seldom needed

    if len(word) > _LONGEST:
        return ""
    near = difflib.get_close_matches(word, sorted({*known, *full}), _SHOWN, _ALIKE)
    names = dict.fromkeys(full.get(name, name) for name in near)
    return f"did you mean {' or '.join(names)}?" if names else ""

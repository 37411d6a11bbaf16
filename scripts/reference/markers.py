"""Replace the generated parts of a Markdown page; the rest of the page is written by hand.

A generated part stands between two comments. The first one names what to generate:

    <!-- generated: fields harness.gate.policy Policy -->
    <!-- end -->
"""

import re
from collections.abc import Callable

PART = re.compile(r"<!-- generated: (.+?) -->\n.*?<!-- end -->", re.DOTALL)


def replaced(page: str, generate: Callable[[list[str]], str]) -> str:
    """Return the page with each part made again. generate: from the words of its first comment."""

    def part(match: re.Match[str]) -> str:
        text = generate(match[1].split())
        return f"<!-- generated: {match[1]} -->\n\n{text}\n\n<!-- end -->"

    return PART.sub(part, page)


def parts(page: str) -> list[list[str]]:
    """Return the words of the first comment of each generated part."""
    return [match[1].split() for match in PART.finditer(page)]

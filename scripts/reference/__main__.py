"""Write the generated pages of docs/reference: `python -m scripts.reference [--check]`.

With --check nothing is written. Exit status 1 names the pages that differ.
"""

import sys
from contextlib import suppress

from scripts.reference import pages


def main(arguments: list[str]) -> int:
    """Write the pages, or check them."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not arguments:
        with suppress(LookupError):  # which is reported below
            pages.write(pages.ROOT)
    problems = pages.differing(pages.ROOT)
    print("\n".join(problems) or "all generated pages are up to date")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

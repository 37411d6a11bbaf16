"""Draw what a sampler does to one row, as a small SVG: bars before and after.

Tokens that stay are dark, removed ones pale, a selected one is orange. The picture has a background
of its own for light and for dark pages.
"""

from collections.abc import Iterator, Sequence
from html import escape
from operator import attrgetter

from scripts.reference.examples import Example, Shown, applied

WIDTH, LEFT, TOP, HEIGHT, GAP = 640, 16, 28, 96, 58
STYLE = (
    ".page{fill:#fff}.text{fill:#24292f;font:12px sans-serif}.small{fill:#57606a;font:11px "
    "sans-serif}.kept{fill:#0969da}.gone{fill:#c9d3dd}.chosen{fill:#d4660a}.line{stroke:#8c959f}"
    "@media(prefers-color-scheme:dark){.page{fill:#0d1117}.text{fill:#e6edf3}.small{fill:#9da7b3}"
    ".kept{fill:#4493f8}.gone{fill:#39424e}.chosen{fill:#f0883e}}"
)


def title(name: str, example: Example) -> str:
    """Return the text of the picture for readers who do not see it."""
    shown = applied(name, example)
    stay = sum(one.stays for one in shown)
    chosen = "".join(f"; token {one.label} is selected" for one in shown if one.selected)
    return f"{name}: {stay} of {len(shown)} tokens stay{chosen}"


def picture(name: str, example: Example) -> str:
    """Return the SVG of an example."""
    shown = applied(name, example)
    left = sorted((one for one in shown if one.place is not None), key=attrgetter("place"))
    height = TOP + 2 * HEIGHT + GAP + 24
    width = (WIDTH - 2 * LEFT) / len(shown)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title(name, example))}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>',
        text(LEFT, 20, "before"),
        *_bars(shown, [one.before for one in shown], TOP, width),
        text(LEFT, TOP + HEIGHT + 44, f"after {name}{_values(example)}"),
        *_bars(left, [one.after for one in left], TOP + HEIGHT + GAP, width),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _values(example: Example) -> str:
    """Return the parameters: (p = 0.75); those that are long stand on the page alone."""
    short = [
        f"{key} = {value}" for key, value in example.parameters.items() if len(str(value)) < 40
    ]
    return f" ({', '.join(short)})" if short else ""


def _bars(shown: Sequence[Shown], shares: Sequence[float], top: int, width: float) -> Iterator[str]:
    """Yield a bar with percentage and label for each token, and the line below them."""
    base, highest = top + HEIGHT, max(shares)
    for index, (one, share) in enumerate(zip(shown, shares, strict=True)):
        middle, tall = LEFT + (index + 0.5) * width, round(share / highest * (HEIGHT - 16), 1)
        if tall > 0:
            yield (
                f'<rect class="{_kind(one)}" x="{middle - width * 0.3:.1f}" y="{base - tall:.1f}"'
                f' width="{width * 0.6:.1f}" height="{tall:.1f}"/>'
            )
        if share > 0:
            yield text(middle, base - tall - 4, f"{share:.1%}", "small", middle=True)
        yield text(middle, base + 14, one.label, "text" if one.stays else "small", middle=True)
    yield f'<path class="line" d="M{LEFT} {base}H{WIDTH - LEFT}"/>'


def _kind(one: Shown) -> str:
    return "chosen" if one.selected else "kept" if one.stays else "gone"


def text(x: float, y: float, words: str, kind: str = "text", *, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(words)}</text>'

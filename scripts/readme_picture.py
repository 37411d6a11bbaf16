"""Draw the picture of README.md: finding 1, computed by the reference.

`python -m scripts.readme_picture` writes docs/static/finding-1.svg. The same row of logits goes
through typical_p twice; the second time a ban sets its last logit to -inf.
"""

import math
from pathlib import Path

from sampler_parity.reference import Candidates, build_chain

FILE = Path(__file__).resolve().parent.parent / "docs" / "static" / "finding-1.svg"
LOGITS = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0, *[-1.0] * 30]
P = 0.5
STEP, BAR, TALL = 10.5, 7.5, 120  # pixels: from bar to bar, width of a bar, height of the tallest
STYLE = """\
.card { fill: #ffffff; stroke: #d0d7de } text { font: 14px sans-serif; fill: #1f2328 }
.title { font-weight: 600 } .note { fill: #59636e }
.kept { fill: #0969da } .removed { fill: #d0d7de }
@media (prefers-color-scheme: dark) {
.card { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .note { fill: #9198a1 }
.kept { fill: #4493f8 } .removed { fill: #3d444d } }"""


def survivors(logits: list[float]) -> set[int]:
    """Return the ids that typical_p keeps."""
    row = Candidates.from_logits(logits)
    build_chain([{"typical_p": {"p": P}}]).apply(row)
    return {int(token) for token in row.ids}


def picture() -> str:
    """Return the SVG: two panels with a bar for each token, its height the logit."""
    banned = [*LOGITS[:-1], -math.inf]
    panels = [
        ("36 logits, typical_p 0.5", LOGITS, "2 tokens stay: the two most likely"),
        ("the last token banned (-inf)", banned, "{} stay, the banned token among them"),
    ]
    parts = [panel(48 + 420 * at, *one) for at, one in enumerate(panels)]
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 230" role="img">',
            "<title>One banned token makes typical_p keep 28 tokens in place of 2</title>",
            f"<style>{STYLE}</style>",
            '<rect class="card" x="0.5" y="0.5" width="879" height="229" rx="8"/>',
            *parts,
            "</svg>\n",
        ]
    )


def panel(left: float, title: str, logits: list[float], note: str) -> str:
    """Return one row of logits: blue bars stay, grey bars are removed."""
    kept = survivors(logits)
    lines = [f'<text class="title" x="{left}" y="32">{title}</text>']
    for token, logit in enumerate(logits):
        height = TALL * (max(logit, -2.0) + 2.5) / 7.5
        kind = "kept" if token in kept else "removed"
        x, y = left + STEP * token, 180 - height
        place = f'x="{x:.1f}" y="{y:.1f}" width="{BAR}" height="{height:.1f}"'
        lines.append(f'<rect class="{kind}" {place}/>')
    text = note.format(len(kept))
    return "\n".join([*lines, f'<text class="note" x="{left}" y="208">{text}</text>'])


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
    print(f"wrote {FILE}")

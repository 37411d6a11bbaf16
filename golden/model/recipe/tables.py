"""Print the README's tables from ``evaluation.json``, as Markdown."""

import argparse
import json
from pathlib import Path
from typing import Any

MODELS = {
    "trained": "trained",
    "baseline_random_weights": "random weights",
    "baseline_gaussian_logits": "Gaussian logits",
}


def table(head: list[str], rows: list[list[object]]) -> None:
    """Print one table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def spread_row(label: str, values: dict[str, float], digits: int) -> list[object]:
    """Return a row of a mean and quantiles."""
    return [label, *(f"{value:.{digits}f}" for value in values.values())]


def position_table(found: dict[str, Any], kind: str) -> None:
    """Print entropy and top-1 mass by position, all models next to each other."""
    head = ["positions", "rows"]
    head += [f"{what}, {label}" for what in ("entropy", "top-1") for label in MODELS.values()]
    columns = [found[name][kind]["by_position"] for name in MODELS]
    rows: list[list[object]] = []
    for cells in zip(*columns, strict=True):
        row: list[object] = [cells[0]["positions"], cells[0]["rows"]]
        row += [f"{cell['entropy']:.2f}" for cell in cells]
        row += [f"{cell['top1']:.3f}" for cell in cells]
        rows.append(row)
    table(head, rows)


def main() -> None:
    """Print all the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluation", type=Path, required=True)
    found = json.loads(parser.parse_args().evaluation.read_text())
    text = found["text"]
    rows: list[list[object]] = []
    for kind in ("docs", "docstring", "action", "json"):
        train, held = text["training"][kind], text["held_out"][kind]
        rows.append([kind, *train.values(), *held.values()])
    sides = ("training", "held out")
    units = ("documents", "characters", "tokens")
    table(["kind", *(f"{side}: {unit}" for side in sides for unit in units)], rows)
    rows = []
    for kind in found["trained"]:
        rows.append([kind, *(f"{found[name][kind]['perplexity']:,.2f}" for name in MODELS)])
    table(["kind", *(f"perplexity, {label}" for label in MODELS.values())], rows)
    for field, digits in (("entropy_nats", 3), ("top1_mass", 4)):
        head = [field, *found["trained"]["total"][field]]
        rows = [
            spread_row(label, found[name]["total"][field], digits) for name, label in MODELS.items()
        ]
        kinds = [kind for kind in found["trained"] if kind != "total"]
        rows += [
            spread_row(f"trained, {kind}", found["trained"][kind][field], digits) for kind in kinds
        ]
        table(head, rows)
    position_table(found, "total")
    position_table(found, "docstring")
    for example in found["continuations"]:
        print(f"{example['prompt']!r}: entropy {example['entropy']:.2f}; ", end="")
        print(", ".join(f"`{top['text']}` {top['p']:.3f}" for top in example["top"]))
        print(f"  greedy: {example['greedy']!r}\n")


if __name__ == "__main__":
    main()

"""The functions by which TRL and verl compute the log-probability of a token, on CPU tensors.

`python trainer_functions.py IN OUT`, in the environment `trainers`. IN holds logits float32[rows,
n_vocab] by NAME/TEMPERATURE; OUT gets float64[rows, n_vocab] by NAME/TEMPERATURE/FUNCTION: the
value of every token. The packages import accelerate, datasets and Ray, so that their functions are
taken from the
text of the installed files, alone.
"""

import ast
import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np


def functions(package: str, path: str, names: tuple[str, ...], given: dict[str, Any]) -> Any:
    """Return functions of a file of an installed package. given: the other names that they use."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse((Path(spec.origin).parent / path).read_text(encoding="utf-8"))
    wanted = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name in names]
    assert len(wanted) == len(names)
    space = dict(given)
    module = ast.Module([*wanted], type_ignores=[])
    exec(compile(module, path, "exec"), space)
    return SimpleNamespace(**{name: space[name] for name in names})


def main(source: str, target: str) -> None:
    torch = importlib.import_module("torch")
    given = {"torch": torch, "F": torch.nn.functional, "os": os}
    # Its Triton kernels take tensors on a GPU alone.
    trl = functions(
        "trl", "trainer/utils.py", ("selective_log_softmax",),
        given | {"is_triton_available": lambda: False},
    )  # fmt: skip
    verl = functions(
        "verl", "utils/torch_functional.py",
        ("logprobs_from_logits", "logprobs_from_logits_v2", "logprobs_from_logits_naive",
         "gather_from_labels"),
        given | {
            "FLAH_ATTN_CROSS_ENTROPY_LOSS_AVAILABLE": False,
            "NPU_CROSS_ENTROPY_LOSS_AVAILABLE": False,
        },
    )  # fmt: skip
    asked, found = np.load(source), {}
    for key in asked.files:
        logits, temperature = torch.tensor(asked[key]), float(key.partition("/")[2])
        for name, of in by_function(torch, trl, verl, logits, temperature).items():
            found[f"{key}/{name}"] = of.to(torch.float64).numpy()
    np.savez(target, **found)


def by_function(torch: Any, trl: Any, verl: Any, logits: Any, temperature: float) -> dict[str, Any]:
    """Return the values of every token on each row. TRL divides by the temperature itself, verl
    before the call."""
    every = torch.arange(logits.shape[1])

    def of_each(function: Any, rows: Any) -> Any:
        """Ask for one token of each row at a time, as verl does."""
        columns = [function(rows, every[i].expand(len(rows))) for i in range(len(every))]
        return torch.stack(columns, dim=1)

    def of_trl(rows: Any) -> Any:
        return trl.selective_log_softmax(rows, every.expand(rows.shape), temperature=temperature)

    narrow = logits.bfloat16()
    return {
        "TRL": of_trl(logits),
        "verl": of_each(verl.logprobs_from_logits, logits / temperature),
        "verl, naive": of_each(verl.logprobs_from_logits_naive, logits / temperature),
        "TRL, bfloat16": of_trl(narrow),
        "verl, bfloat16": of_each(verl.logprobs_from_logits, narrow / temperature),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])

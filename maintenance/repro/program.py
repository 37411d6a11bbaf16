"""A case as a program in C++ that needs libllama and nothing else, not even its headers.

It declares the functions that it calls, fills an array of candidates from literals and applies the
chain's samplers. It compares the bits of ids and logits behind one of them with those expected.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.signatures import ARGUMENTS, signature
from sampler_parity.maintenance.repro.asked import ComparedStage, asked_of, in_lines, short

_C = {
    "c_int": "int32_t", "c_uint": "uint32_t", "c_float": "float", "c_ulong": "size_t",
    "c_bool": "bool",
}  # fmt: skip

_SOURCE = Path(__file__).with_name("program.cpp")  # with @fields@


def program(case: Case, compared: ComparedStage, about: str) -> str:
    """Return the source. about: a line for its head.

    Raises InputError with the reason if no such program can be written; Unsupported for a sampler
    that the release does not have.
    """
    step, stage = compared.step, compared.stage
    parts = asked_of(case, compared)
    prepared, expected = parts.prepared, parts.expected
    selected = -1 if expected.token is None else expected.token
    names = [next(iter(entry)) for entry in prepared.chain]
    lines = [
        _made(name, {"n_vocab": case.logits.n, **spec[name]}, compared.build, i)
        for i, (name, spec) in enumerate(zip(names, prepared.chain, strict=True))
    ]
    data = [text for _, _, text in lines if text]
    rows = ",\n".join(_wrapped(row) for row in prepared.rows[: step + 1])
    data.append(f"const std::vector<std::vector<float>> rows = {{\n{rows}}};")
    tokens = [
        f"{{{token}, {_literal(logit)}, {_literal(p)}}}"
        for token, logit, p in zip(expected.ids, expected.logits, expected.p, strict=True)
    ]
    data.append("const std::vector<Token> expected = {\n" + in_lines(tokens) + "};")
    fields = {
        "title": f"{case.id}: {case.description}",
        "about": about,
        "declared": in_lines([*dict.fromkeys(declared for declared, _, _ in lines)], ""),
        "data": "\n".join(data),
        "chain": in_lines([call for _, call, _ in lines]),
        "history": ", ".join(map(str, prepared.case.history)),
        "accepted": ", ".join(map(str, parts.accepted)),
        "stages": stage + 1,
        "selected": selected,
        "sorted": int(expected.sorted),
        "stage": names[stage],
    }
    text = _SOURCE.read_text(encoding="utf-8")
    source = re.sub("@([a-z]+)@", lambda match: str(fields[match[1]]), text)
    return short(source, case.id)


def _made(name: str, parameters: dict[str, Any], release: str, number: int) -> tuple[str, str, str]:
    """Return a stage's declaration, its call, and the data that it points at."""
    taken = signature(name, release)
    values, data = dict(parameters), ""
    if name == "logit_bias":
        biases = values["logit_bias"]
        pairs = ", ".join(f"{{{token}, {_literal(bias)}}}" for token, bias in biases)
        data = f"const Bias bias{number}[] = {{{pairs}}};"
        values |= {"n_logit_bias": len(biases), "logit_bias": f"bias{number}"}
    arguments, types = [], []
    for argument in taken.arguments:
        if argument not in values:
            raise InputError(
                name,
                f"needs {argument}, which a program without a model lacks",
                "name another case",
            )
        kind = ARGUMENTS[argument]
        pointer = argument == "logit_bias"
        types.append("const Bias *" if pointer else _C[kind.__name__])
        arguments.append(str(values[argument]) if pointer else _argument(kind, values[argument]))
    function = f"llama_sampler_init_{taken.symbol}"
    declared = f"llama_sampler * {function}({', '.join(types)});"
    return declared, f"{function}({', '.join(arguments)})", data


def _argument(kind: Any, value: Any) -> str:
    if kind.__name__ == "c_float":
        return _literal(value)
    return str(value).lower() if kind.__name__ == "c_bool" else str(int(value))


def _literal(value: Any) -> str:
    """Format a float32 in C++, exactly."""
    number = np.float32(value)
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    text = str(number)  # the shortest that is read as the same float32
    return f"{text}f"


def _wrapped(row: NDArray[np.float32]) -> str:
    return "    {" + in_lines([_literal(x) for x in row]).strip() + "}"

"""Recorded native results: the output of llama.cpp's samplers on rows of a fixture, chain by chain.

They compare the reference with llama.cpp where llama.cpp is not installed. After the last stage of
every step the recording has the surviving ids in their order, their p to the bit, and the selected
token. One chain goes through all steps with its state; step i takes row rows[i].
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from sampler_parity.harness.checks.stages.classify import same_bits
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_table
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.fixtures import Facts, Fixture, Tensors
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.strict import STRICT, Strict, first_mistake
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError

STEPS = 40


class Recorded(BaseModel):
    """A chain, the history that it accepts first, and the tokens that it accepts after each step.

    accept: token ids, taken in turns; empty for the selected token.
    """

    model_config = STRICT

    id: str
    chain: p.ChainSpec
    history: list[int] = []
    accept: list[int] = []

    def accepted(self, step: int, selected: int | None) -> int | None:
        return self.accept[step % len(self.accept)] if self.accept else selected


@dataclass(frozen=True)
class Disagreement:
    """The first step at which the reference differs from a recording."""

    chain: str
    step: int
    row: int
    what: str
    got: object
    expected: object

    def __str__(self) -> str:
        return (
            f"chain {self.chain}, step {self.step} (row {self.row}): {self.what}: the reference has"
            f" {self.got}, llama.cpp had {self.expected}"
        )


class _RecordedFile(Strict):
    chain: list[Recorded]


CHAINS = read_table(Path(__file__).with_name("chains.toml"), _RecordedFile).chain


def record(logits: NDArray[Any], model: Path) -> tuple[Facts, Tensors]:
    """Run every chain on llama.cpp. logits: [rows, n_vocab]. Raises InputError if it fails."""
    n_rows = len(logits)
    rows = [step * n_rows // STEPS for step in range(STEPS)]
    backend = BackendProcess("llama.cpp", [*WORKER_COMMAND, "llama.cpp"])
    tensors: Tensors = {"rows": np.array(rows, np.int32)}
    try:
        for recorded in CHAINS:
            tensors |= _record_one(recorded, logits[rows].astype(np.float32), model, backend)
    except BackendFailure as failure:
        raise InputError("llama.cpp", f"cannot record {recorded.id}: {failure}") from None
    finally:
        backend.close()
    facts = {
        "n_vocab": logits.shape[1],
        "chains": [json.dumps(p.plain(recorded.model_dump())) for recorded in CHAINS],
    }
    return facts, tensors


def _record_one(
    recorded: Recorded, rows: NDArray[np.float32], model: Path, backend: Backend
) -> Tensors:
    n_steps, n_vocab = rows.shape
    steps = [
        p.Step(row=i, accept=recorded.accepted(i, None) if recorded.accept else "selected")
        for i in range(n_steps)
    ]
    chain = complete(p.numbers(recorded.chain), n_vocab)
    setting = client.Setting(chain, n_vocab, str(model), recorded.history)
    ran = client.run(backend, setting, list(rows), steps, whole_chain=False)
    last = [stages[-1] for stages in ran.stages]
    tokens = [-1 if token is None else token for token in ran.tokens]
    return {
        f"{recorded.id}/survivors": np.array([len(stage.ids) for stage in last], np.int32),
        f"{recorded.id}/ids": np.concatenate([stage.ids for stage in last]),
        f"{recorded.id}/p": np.concatenate([stage.p for stage in last]),
        f"{recorded.id}/tokens": np.array(tokens, np.int32),
    }


def chains_of(path: Path, fixture: Fixture) -> list[Recorded]:
    """Read the chains of a recording, checked for shape. Raises InputError."""
    fix = "run `sampler-parity golden regenerate`"
    try:
        chains = [Recorded.model_validate_json(text) for text in fixture.facts["chains"]]
        _is_list(path, "rows", fixture.tensors["rows"], "i")
        steps = fixture.tensors["rows"].shape
        for recorded in chains:
            survivors, ids, probs, tokens = arrays = _arrays(fixture, recorded.id)
            for array, kind in zip(arrays, "iifi", strict=True):
                _is_list(path, f"chain {recorded.id}", array, kind)
            if survivors.shape != steps or tokens.shape != steps or (survivors < 0).any():
                raise InputError(path, f"chain {recorded.id}: a step is missing", fix)
            if ids.shape != probs.shape or ids.shape != (int(survivors.sum()),):
                raise InputError(
                    path, f"chain {recorded.id}: ids, p and survivors differ in length", fix
                )
            bad = np.flatnonzero(np.isnan(probs))
            if len(bad):
                problem = f"chain {recorded.id}: p has a NaN at position {bad[0]}"
                raise InputError(path, problem, fix)
    except ValidationError as error:
        raise InputError(path, f"a chain is malformed: {first_mistake(error)}", fix) from None
    except (KeyError, TypeError) as error:
        raise InputError(path, f"is not a recording: {error} is missing", fix) from None
    return chains


def _is_list(path: Path, name: str, array: NDArray[Any], kind: str) -> None:
    if array.ndim != 1 or array.dtype != {"i": np.int32, "f": np.float32}[kind]:
        problem = f"{name}: expected a list of numbers, got {array.dtype}{list(array.shape)}"
        raise InputError(path, problem, "run `sampler-parity golden regenerate`")


def _arrays(fixture: Fixture, chain: str) -> tuple[NDArray[Any], ...]:
    return tuple(fixture.tensors[f"{chain}/{k}"] for k in ("survivors", "ids", "p", "tokens"))


def compare(path: Path, fixture: Fixture, logits: NDArray[Any], model: Path) -> list[Disagreement]:
    """Compare the reference with a recording; return the first disagreement of each chain.

    logits: the rows that it was recorded on. Raises InputError if they do not belong together.
    """
    chains = chains_of(path, fixture)
    rows, n_vocab = fixture.tensors["rows"], fixture.facts.get("n_vocab")
    if n_vocab != logits.shape[1]:
        problem = f"recorded with {n_vocab} tokens, the logits have {logits.shape[1]}"
        raise InputError(path, problem, "use the logits that it was recorded on")
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(logits)):
        raise InputError(path, f"names row {rows.max()}, the logits have {len(logits)}")
    disagreements = [_compare_one(path, recorded, fixture, logits, model) for recorded in chains]
    return [disagreement for disagreement in disagreements if disagreement is not None]


def _compare_one(
    path: Path, recorded: Recorded, fixture: Fixture, logits: NDArray[Any], model: Path
) -> Disagreement | None:
    survivors, all_ids, all_p, tokens = _arrays(fixture, recorded.id)
    ends = np.cumsum(survivors)  # the steps stand one after the other in all_ids and all_p
    try:
        spec = p.numbers(recorded.chain)
        chain = build_chain(spec, n_vocab=logits.shape[1], vocab=read_vocab(model))
    except ChainError as error:
        raise InputError(path, f"chain {recorded.id}: {error}") from None
    for token in recorded.history:
        chain.accept(token)
    for step, row in enumerate(fixture.tensors["rows"].tolist()):
        cand = Candidates.from_logits(logits[row].astype(np.float32))
        part = slice(ends[step] - survivors[step], ends[step])
        expected = Candidates(all_ids[part], all_p[part], all_p[part])
        try:
            chain.apply(cand)
            difference = _difference(cand, expected, int(tokens[step]))
        except UndefinedInputError as error:
            difference = ("result", f"refused: {error}", "a result")
        if difference is not None:
            return Disagreement(recorded.id, step, row, *difference)
        accepted = recorded.accepted(step, cand.token)
        if accepted is not None:
            chain.accept(accepted)
    return None


def _difference(
    cand: Candidates, expected: Candidates, token: int
) -> tuple[str, object, object] | None:
    """Return the first difference, got and expected. Only ids and p of expected are looked at."""
    if len(cand) != len(expected):
        return "survivors", len(cand), len(expected)
    rank = _first(cand.ids != expected.ids)
    if rank is not None:
        return f"id at rank {rank}", int(cand.ids[rank]), int(expected.ids[rank])
    if not same_bits(cand.p, expected.p):
        rank = _first(cand.p.view(np.uint32) != expected.p.view(np.uint32))
        return f"p at rank {rank}", float(cand.p[rank]), float(expected.p[rank])
    got = -1 if cand.token is None else cand.token
    return ("token", got, token) if got != token else None


def _first(differs: NDArray[np.bool_]) -> int | None:
    return int(differs.argmax()) if differs.any() else None

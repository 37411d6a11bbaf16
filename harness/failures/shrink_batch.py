"""Simpler batches: fewer steps, rows, operations, stages and tokens before; simpler parameters.

Not every one has a script that can be taken: who builds the case refuses what names a row that is
not there.
"""

import itertools
from collections.abc import Collection, Iterator
from typing import Any

from sampler_parity.harness.checks.batch.block import Batched
from sampler_parity.harness.protocol.messages import BatchStep, ChainSpec, Operation

Data = dict[str, Any]


def simpler(batch: Batched) -> Iterator[Data]:
    """Yield simpler scripts as data for the model, those that leave out most first."""
    for steps in (*_fewer_steps(batch.steps), *_fewer_rows(batch.steps), *_less_done(batch.steps)):
        yield _with(batch, [step.model_dump() for step in steps])
    for i, sequence in enumerate(batch.sequences):
        for change in _simpler_sequences(sequence.model_dump()):
            changed = [item.model_dump() for item in batch.sequences]
            changed[i] = change
            yield batch.model_dump() | {"sequences": changed}
    if batch.alone is None or batch.alone > 1:
        yield batch.model_dump() | {"alone": 1}


def with_simpler_parameters(batch: Batched) -> Iterator[Data]:
    """Yield the script with one parameter of a sequence simpler."""
    sequences = [sequence.model_dump() for sequence in batch.sequences]
    for i, sequence in enumerate(sequences):
        for chain in simpler_parameters(sequence["chain"]):
            changed = [*sequences[:i], sequence | {"chain": chain}, *sequences[i + 1 :]]
            yield batch.model_dump() | {"sequences": changed}


def without_unused_logits(batch: Batched) -> tuple[Data, list[int]] | None:
    """Return the script with its rows of logits renumbered, and the rows; None if all are in
    use."""
    used = sorted({sample.row for step in batch.steps for sample in step.sample})
    if used == list(range(batch.rows)):
        return None
    steps = [step.model_dump() for step in batch.steps]
    for step in steps:
        for sample in step["sample"]:
            sample["row"] = used.index(sample["row"])
    return batch.model_dump() | {"steps": steps}, used


def _with(batch: Batched, steps: list[Data]) -> Data:
    """Return the script, and those of its sequences that join in it."""
    joins = [op for step in steps for op in step["before"] if op[0] == "join"]
    used = sorted({op[1] for op in joins})
    for step in steps:
        step["before"] = [
            ("join", used.index(op[1])) if op[0] == "join" else op for op in step["before"]
        ]
    sequences = [batch.sequences[i].model_dump() for i in used]
    return batch.model_dump() | {"steps": steps, "sequences": sequences}


def _fewer_steps(steps: list[BatchStep]) -> Iterator[list[BatchStep]]:
    n = len(steps)
    for length in dict.fromkeys((1, n // 2, n - 1)):
        if 0 < length < n:
            yield steps[:length]
    for i in range(n - 1):  # its operations move in front of the next
        both = BatchStep(
            before=[*steps[i].before, *steps[i + 1].before], sample=steps[i + 1].sample
        )
        yield [*steps[:i], both, *steps[i + 2 :]]


def _fewer_rows(steps: list[BatchStep]) -> Iterator[list[BatchStep]]:
    n_rows = sum(op[0] in ("join", "clone") for step in steps for op in step.before)
    size = n_rows // 2
    while size > 0:
        for start in range(0, n_rows, size):
            yield without_rows(steps, range(start, start + size))
        size //= 2


def without_rows(steps: list[BatchStep], dropped: Collection[int]) -> list[BatchStep]:
    """Return the script of the other rows, numbered in the order in which rows join or are cloned.
    Clones of a row that is left out are left out, too."""
    live: list[int] = []  # all rows, by number
    staying: list[int] = []  # those of them that stay, in the order of the new script
    n_rows, fewer = 0, []
    for step in steps:
        before: list[Operation] = []
        for name, at, *second in step.before:
            numbers = [at] if name == "join" else [live[i] for i in (at, *second)]
            stays = name == "join" or set(numbers) <= set(staying)
            if name in ("join", "clone"):
                live.append(n_rows)
                stays = stays and n_rows not in dropped
                n_rows += 1
            elif name == "leave":
                del live[at]
            elif name == "swap":
                live[at], live[second[0]] = live[second[0]], live[at]
            if not stays:
                continue
            places = [at] if name == "join" else [staying.index(number) for number in numbers]
            before.append((name, *places))  # type: ignore[arg-type]
            if name in ("join", "clone"):
                staying.append(n_rows - 1)
            elif name == "leave":
                staying.remove(numbers[0])
            elif name == "swap":
                staying[places[0]], staying[places[1]] = staying[places[1]], staying[places[0]]
        sample = [
            sampled.model_copy(update={"at": staying.index(live[sampled.at])})
            for sampled in step.sample
            if live[sampled.at] in staying
        ]
        fewer.append(BatchStep(before=before, sample=sample))
    return fewer


def _less_done(steps: list[BatchStep]) -> Iterator[list[BatchStep]]:
    for i, step in enumerate(steps):
        for name in ("before", "sample"):
            actions = getattr(step, name)
            for j in range(len(actions)):
                less = step.model_copy(update={name: actions[:j] + actions[j + 1 :]})
                yield [*steps[:i], less, *steps[i + 1 :]]


def _simpler_sequences(sequence: Data) -> Iterator[Data]:
    for name in ("prompt", "output"):
        tokens = sequence[name]
        for fewer in (tokens[:0], tokens[: len(tokens) // 2], tokens[1:]):
            if len(fewer) < len(tokens):
                yield sequence | {name: fewer}
    chain = sequence["chain"]
    for i in range(len(chain)):
        yield sequence | {"chain": chain[:i] + chain[i + 1 :]}


def simpler_parameters(chain: ChainSpec) -> Iterator[ChainSpec]:
    """Yield chains in which one parameter is simpler."""
    for i, stage in enumerate(chain):
        ((name, parameters),) = stage.items()
        for key, value in parameters.items():
            for simple in _simpler(value):
                yield [*chain[:i], {name: parameters | {key: simple}}, *chain[i + 1 :]]


def _simpler(value: Any) -> list[Any]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    if isinstance(value, int):
        return [v for v in (0, 1, 2) if v < value]
    simple = (v for v in (1.0, 0.5, round(value, 1), round(value, 2)) if v != 0)
    return list(itertools.takewhile(lambda v: v != value, simple))  # so that no two take turns

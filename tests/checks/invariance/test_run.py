"""Invariance of decoding: figures by hand, and detection of a batch that changes logits."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.checks.invariance import InvarianceCase, Invariances, figures, run
from sampler_parity.harness.llama_cpp.decode import Further
from sampler_parity.harness.llama_cpp.sequences import Slots, take_all
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import SequencesReply, SequencesRequest
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.maintenance.selftest.sequences import MadeContext, Worker
from tests.support.cases import ABOUT
from tests.support.context import ready
from tests.support.inside import Inside, claiming

TEXTS = [[1, 2, 3, 4], [5, 6, 7, 8], [2, 2, 2, 2], [9, 8, 7, 6], [3, 1, 3, 1]]


def crowded(model: str, widths: list[int]) -> InvarianceCase:
    logits = {"crowded": model, "texts": TEXTS, "widths": widths}
    return InvarianceCase.model_validate(ABOUT | {"logits": logits})


def test_figures_of_two_rows_by_hand() -> None:
    alone = np.log(np.array([[[0.5, 0.25, 0.25]], [[0.25, 0.5, 0.25]]], np.float32))
    beside = alone.copy()
    beside[1, 0] = np.log(np.array([0.5, 0.25, 0.25], np.float32))
    seen = figures(2, alone, beside)
    # the second row: 1/4 log(1/2) + 1/2 log 2 = 1/4 log 2, and another top-1
    assert (seen.width, seen.rows, seen.equal, seen.top1) == (2, 2, 1, 1)
    assert seen.difference == pytest.approx(np.log(2), rel=1e-6)
    assert seen.kl_max == pytest.approx(np.log(2) / 4, rel=1e-6)
    assert seen.kl_mean == pytest.approx(np.log(2) / 8, rel=1e-6)


@pytest.mark.slow
def test_every_text_is_decoded_at_every_width_and_width_one_is_the_text_itself(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    result = run(crowded(str(tiny), [1, 2, 3, 5]), ready(inside()))
    widths = result.backends["llama.cpp"].widths
    assert [(f.width, f.rows) for f in widths] == [(1, 20), (2, 20), (3, 20), (5, 20)]
    assert (widths[0].equal, widths[0].difference) == (20, 0.0)
    assert max(f.difference for f in widths) < 0.05  # keys and values are float16


class NeighbourSeeps(MadeContext):
    """From four sequences on a logit of each is larger by a quarter."""

    def decode_together(self, parts: Sequence[Further]) -> int:
        ns = super().decode_together(parts)
        for row in self.rows.values() if len(parts) >= 4 else ():
            row[7] += 0.25
        return ns


class Seeping(Worker):
    def sequences(
        self, request: SequencesRequest, rows: NDArray[np.float32]
    ) -> tuple[SequencesReply, list[Result]]:
        context: Any = NeighbourSeeps(request.n_vocab)
        worker: Any = self
        return take_all(Slots(worker, request, context, None), rows)


def test_what_a_neighbour_changes_is_seen_at_its_width(tiny: Path) -> None:
    with closing(InPlace("seeping", Seeping(Slots))) as backend:
        result = run(crowded(str(tiny), [2, 3, 4, 5]), ready(backend))
    widths = result.backends["seeping"].widths
    assert [(f.equal, round(f.difference, 6)) for f in widths] == [
        (20, 0.0), (20, 0.0), (0, 0.25), (0, 0.25),
    ]  # fmt: skip


def test_a_backend_that_decodes_no_sequences_has_no_figures(tiny: Path) -> None:
    with closing(InPlace("without", claiming(Worker(Slots), capabilities=["run"]))) as backend:
        result = run(crowded(str(tiny), [2]), ready(backend))
    failed = result.backends["without"].failed
    assert failed == "unsupported: decodes no sequences that join and leave"


def test_prompts_that_are_too_short_are_refused() -> None:
    fields = {"prompts": {"p": [1, 2, 3, 4, 5]}, "texts": 3, "tokens": 2, "widths": [1]}
    block = Invariances.model_validate(ABOUT | fields)
    with pytest.raises(ValueError, match="give only 2 texts of 2 tokens; 3 are needed"):
        list(block.items(False))

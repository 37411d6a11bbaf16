"""The sampler of vLLM's second model runner, on rows of several requests in one launch.

The runner gives a request a slot of its state, the last free one first: the row at a place and the
slot of its request differ. With drafts a request has a row for each of them and one more.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.past import Past
from sampler_parity.harness.errors import InputError

SPARE = 2  # slots that no row of the launch uses
PADDING = 3  # columns of NaN behind a row, as of a vocabulary that is padded
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Context:
    """The layout of a launch. slots: of each request. rows, pos, local, input_ids: of each row the
    slot, the position, the place among the rows of its request, the token that was fed there.
    first: the first row of each request, and the number of rows."""

    slots: Any
    rows: Any
    pos: Any
    local: Any
    input_ids: Any
    first: Any

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Those of Sampler.sample behind the logits."""
        slots = (self.rows, self.slots, self.slots.numpy())
        return (*slots, self.pos, self.input_ids, self.local, (self.pos + 1).numpy())


class Runner:
    """vLLM's state of requests and its Sampler.

    engine: its modules (package.py). requests: at most. space: tokens of a request.
    """

    def __init__(self, engine: SimpleNamespace, n_vocab: int, requests: int, space: int) -> None:
        self.engine, self.n_vocab = engine, n_vocab
        cpu = engine.torch.device("cpu")
        size, space = requests + SPARE, max(space, 1)
        self.state = engine.states.RequestState(size, space, space, 8, n_vocab, cpu)
        config = SimpleNamespace(reasoning_config=None)
        mode = "processed_logprobs"
        self.sampler = engine.sampler.Sampler(config, size, n_vocab, cpu, self.state, mode)

    def add(
        self, params: Sequence[Any], pasts: Sequence[Past], drafts: Ints | None = None
    ) -> Context:
        """Put requests into slots, and return the layout of a launch. drafts: [request, drafted]"""
        return self.layout(self.put(params, pasts), pasts, drafts)

    def put(self, params: Sequence[Any], pasts: Sequence[Past]) -> list[int]:
        """Put requests into slots, and return these."""
        slots = []
        with refused():
            for number, (one, past) in enumerate(zip(params, pasts, strict=True)):
                self.state.add_request(str(number), len(past.prompt), past.text, 0, 1)
                slots.append(self.state.req_id_to_index[str(number)])
                self.sampler.add_request(slots[-1], one)
            self.state.apply_staged_writes()
            self.sampler.apply_staged_writes()
        return slots

    def layout(
        self, slots: Sequence[int], pasts: Sequence[Past], drafts: Ints | None = None
    ) -> Context:
        """Return the layout of a launch. drafts: [request, drafted]"""
        tensor = self.engine.torch.tensor
        last = np.array([past.text[-1] if past.text else 0 for past in pasts], np.int32)
        inputs = last[:, None] if drafts is None else np.column_stack([last, drafts])
        n, rows = inputs.shape
        lengths = np.array([len(past.text) for past in pasts])
        local = np.arange(rows)
        return Context(
            slots=tensor(slots, dtype=self.engine.torch.int32),
            rows=tensor(np.repeat(np.array(slots, np.int32), rows)),
            pos=tensor((lengths[:, None] - 1 + local).ravel()),
            local=tensor(np.tile(local.astype(np.int32), n)),
            input_ids=tensor(inputs.ravel()),
            first=tensor(np.arange(n + 1, dtype=np.int32) * rows),
        )

    def padded(self, rows: NDArray[np.float32]) -> Any:
        """Return rows as a part of a wider tensor, as of a model with a padded vocabulary."""
        torch = self.engine.torch
        wide = torch.full((len(rows), rows.shape[1] + PADDING), float("nan"))
        wide[:, : rows.shape[1]] = torch.tensor(rows)
        return wide[:, : rows.shape[1]]

    def sample(self, context: Context, logits: Any) -> tuple[list[int], Any]:
        """Return the token of each row, and the logits that it was drawn from."""
        with refused():
            tokens, processed = self.sampler.sample(logits, *context.arguments, True)
        return tokens.tolist(), processed

    def draws(self, context: Context, logits: Any, first: int, last: int) -> Any:
        """Draw from one row of processed logits at the positions behind its own: first to last."""
        torch, states = self.engine.torch, self.sampler.sampling_states
        with refused():
            return self.engine.gumbel.gumbel_sample(
                logits.expand(last - first, -1),
                context.rows.expand(last - first),
                states.temperature.gpu,
                states.seeds.gpu,
                context.pos + torch.arange(first, last),
                apply_temperature=False,
                is_drafting=False,
            )

    def processed(self, context: Context, logits: Any) -> Any:
        """Return the logits after all stages but the draw."""
        with refused():
            return self.sampler.apply_sampling_params(logits, *context.arguments)

    def logprobs(self, logits: Any) -> Any:
        """Return the logprobs of every token, as the kernel gives them for the tokens asked for."""
        ids = self.engine.torch.arange(self.n_vocab).repeat(len(logits), 1)
        with refused():
            return self.engine.logprob.compute_token_logprobs(logits, ids)

    def seeded(self, context: Context, seeds: NDArray[np.uint32]) -> None:
        """Give each request a seed."""
        states = self.sampler.sampling_states
        states.seeds.np[context.slots.numpy()] = seeds
        states.seeds.copy_to_uva()

    def verify(
        self, context: Context, logits: Any, q: NDArray[np.float32], **options: Any
    ) -> tuple[Ints, Ints]:
        """Verify the drafts: return the tokens of each request, and their number.

        logits: the target's, raw. q: [drafted, n_vocab], logarithms of what each draft of every
        request was drawn from. options: of rejection_sample.
        """
        torch, states = self.engine.torch, self.sampler.sampling_states
        temperature = states.temperature.gpu
        # The kernel divides the logits of the draft by the temperature.
        divided = torch.where(temperature == 0, 1, temperature)[:, None, None]
        with refused():
            sampled, count = self.engine.rejection_sampler_utils.rejection_sample(
                self.processed(context, logits).contiguous(),
                torch.tensor(q)[None] * divided,
                context.input_ids,
                context.first,
                context.pos,
                context.slots,
                context.rows,
                context.local,
                temperature,
                states.seeds.gpu,
                len(q),
                **options,
            )
        return sampled.numpy(), count.numpy()


@contextmanager
def refused() -> Iterator[None]:
    """Turn vLLM's errors into those of an input, and silence numpy below the interpreter."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ValueError, AssertionError, IndexError) as error:
        raise InputError("vLLM", (str(error).splitlines() or [""])[0]) from None

"""The tokens before a row of logits, from batches."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.programs.recording.contexts import Contexts
from sampler_parity.programs.recording.events import Decode

CTX = "0x1"
# A sequence, how many of its tokens are dropped first, and the new tokens.
CHANGE = st.tuples(st.integers(0, 2), st.integers(0, 5), st.lists(st.integers(0, 9), min_size=1))


@settings(max_examples=50, deadline=None)
@given(st.lists(CHANGE))
def test_a_row_has_the_tokens_of_its_sequence(changes: list[tuple[int, int, list[int]]]) -> None:
    contexts = Contexts()
    texts: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for sequence, dropped, new in changes:
        text = texts[sequence][: max(0, len(texts[sequence]) - dropped)]
        texts[sequence], first, n = text + new, len(text), len(new)
        pos = [*range(first, first + n)]
        contexts.take(Decode(ctx=CTX, tokens=new, pos=pos, seq=[sequence] * n, out=[n - 1]))
        assert contexts.tokens(CTX, -1) == contexts.tokens(CTX, n - 1) == texts[sequence]
        assert contexts.tokens(CTX, 0) == texts[sequence][: first + 1]


def test_a_batch_may_have_parts_and_no_positions_and_a_gap_is_unknown() -> None:
    contexts = Contexts()
    contexts.take(Decode(ctx=CTX, tokens=[1, 2], pos=[0, 1], seq=[[0, 1], 0], out=[0, 1]))
    assert [contexts.tokens(CTX, row) for row in (0, 1, -1, -2)] == [[1], [1, 2], [1, 2], [1]]
    contexts.take(Decode(ctx=CTX, tokens=[3], out=[]))
    contexts.take(Decode(ctx=CTX, tokens=[4], out=[1], at=1))
    contexts.take(Decode(ctx=CTX, tokens=[9], pos=[4], seq=[0], out=[0], result=1))
    assert contexts.tokens(CTX, -1) == contexts.tokens(CTX, 1) == [1, 2, 3, 4]
    contexts.take(Decode(ctx=CTX, tokens=[5], pos=[7], seq=[0], out=[0]))  # a copied prompt
    assert [contexts.tokens(CTX, row) for row in (0, 1, -2, None)] == [None] * 4

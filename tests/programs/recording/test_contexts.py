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
    """Each batch takes several events. A failed one and one without positions follow, and a gap."""
    contexts = Contexts()
    texts: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for sequence, dropped, new in changes:
        text = texts[sequence][: max(0, len(texts[sequence]) - dropped)]
        texts[sequence], first = text + new, len(text)
        for at, token in enumerate(new):
            where = {"pos": [first + at], "seq": [[sequence, 3]], "out": [at], "at": at}
            contexts.take(Decode.model_validate({"ctx": CTX, "tokens": [token], **where}))
        contexts.take(Decode(ctx=CTX, tokens=[1], pos=[0], seq=[sequence], out=[0], result=1))
        assert contexts.tokens(CTX, -1) == contexts.tokens(CTX, len(new) - 1) == texts[sequence]
        assert contexts.tokens(CTX, 0) == texts[sequence][: first + 1]
    contexts.take(Decode(ctx=CTX, tokens=[7, 8], out=[1]))
    assert [contexts.tokens(CTX, row) for row in (-1, -2, 2, None)] == [
        texts[0] + [7, 8],
        *[None] * 3,
    ]
    contexts.take(Decode(ctx=CTX, tokens=[5], pos=[99], seq=[0], out=[0]))
    assert contexts.tokens(CTX, 0) is None

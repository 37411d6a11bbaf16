"""reference.vocab against llama.cpp's tokenizer, on the two built-in vocabularies."""

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.reference import ChainError, Vocab
from sampler_parity.reference.vocab import TokenType

Tokenizer = Callable[[bytes], list[int]]
KINDS = ["bpe", "spm"]

words = st.sampled_from(
    ["hello", " world", "the", "ing", "###", "\n\n", "://", '":', "**", "abcd", "amniotic", "'s",
     " 's", "n't", "'ll", "  ", "\t", "123", " 4", "é", "ü", "Ω", "中文", "🙂", "👩‍👩‍👧", "\u3000",
     "\u00a0", "…", "▁", "<s>", "<|eot_id|>", "²", "Ⅷ", "\u200d", "\ufeff", "\u0301"]
)  # fmt: skip
texts = st.one_of(
    st.lists(st.one_of(words, st.characters(codec="ascii")), max_size=12).map("".join),
    st.text(max_size=24),
    st.text(alphabet=" \n'asdtr", max_size=24),
)
sliced = st.tuples(texts, st.integers(0, 6), st.integers(1, 4)).map(
    lambda t: t[0].encode()[t[1] : -t[2]]
)
examples = settings(max_examples=300, deadline=None)


@pytest.fixture(scope="module")
def models(libllama: Libllama) -> dict[str, int]:
    """llama_vocab pointers of the built-in vocabularies."""
    return {
        kind: libllama.llama_model_get_vocab(libllama.load_model(vocab_path(kind), vocab_only=True))
        for kind in KINDS
    }


@pytest.fixture(scope="module")
def tokenize(libllama: Libllama, models: dict[str, int]) -> Callable[[str, bytes], list[int]]:
    def native(kind: str, text: bytes) -> list[int]:
        out = (ctypes.c_int32 * 512)()
        n = libllama.llama_tokenize(models[kind], text, len(text), out, 512, False, False)
        assert n >= 0
        return out[:n]

    return native


@pytest.fixture(scope="module")
def pieces(libllama: Libllama, models: dict[str, int]) -> Callable[[str, int, bool], bytes]:
    """llama_token_to_piece without stripping."""
    function: Any = libllama._library.llama_token_to_piece
    function.argtypes = [
        ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32,
        ctypes.c_bool,
    ]  # fmt: skip

    def native(kind: str, token: int, special: bool) -> bytes:
        buffer = ctypes.create_string_buffer(256)
        n = function(models[kind], token, buffer, 256, 0, special)
        assert n >= 0
        return buffer.raw[:n]

    return native


@pytest.fixture(scope="module")
def detokenized(libllama: Libllama, models: dict[str, int]) -> Callable[[str, int], bytes]:
    """llama_detokenize of one token, special tokens kept and spelled out."""
    function: Any = libllama._library.llama_detokenize
    function.argtypes = [
        ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32, ctypes.c_char_p,
        ctypes.c_int32, ctypes.c_bool, ctypes.c_bool,
    ]  # fmt: skip

    def native(kind: str, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(256)
        tokens = (ctypes.c_int32 * 1)(token)
        n = function(models[kind], tokens, 1, buffer, 256, False, True)
        assert n >= 0
        return buffer.raw[:n]

    return native


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@example(text="")
@example(text=" ")
@example(text="hello world")
@example(text="a  b\n\n c")
@example(text="x's 's  's")
@examples
@pytest.mark.slow
def test_tokenize_gives_llama_cpps_tokens(
    tokenize: Callable[[str, bytes], list[int]], kind: str, text: str
) -> None:
    vocab = read_vocab(vocab_path(kind))
    assert vocab.tokenize(text.encode()) == tokenize(kind, text.encode())


@pytest.mark.parametrize("kind", KINDS)
@given(text=sliced)
@example(text="é".encode()[:1])
@example(text="🙂".encode()[:3])
@example(text=b"a" + "🙂".encode()[:2] + b"b")
@examples
@pytest.mark.slow
def test_tokenize_of_broken_utf8_gives_llama_cpps_tokens(
    tokenize: Callable[[str, bytes], list[int]], kind: str, text: bytes
) -> None:
    """The rest of a breaker after a token, and a breaker cut after 40 bytes, can begin and end
    inside a character.

    Overlong forms and surrogates cannot occur.
    """
    vocab = read_vocab(vocab_path(kind))
    assert vocab.tokenize(text) == tokenize(kind, text)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_llama_cpps(pieces: Callable[[str, int, bool], bytes], kind: str) -> None:
    vocab = read_vocab(vocab_path(kind))
    for special in (False, True):
        got = [vocab.piece(token, special) for token in range(len(vocab))]
        assert got == [pieces(kind, token, special) for token in range(len(vocab))]


@pytest.mark.parametrize("kind", KINDS)
def test_detokenize_gives_llama_cpps_text(
    detokenized: Callable[[str, int], bytes], kind: str
) -> None:
    vocab = read_vocab(vocab_path(kind))
    got = [vocab.detokenize(token) for token in range(len(vocab))]
    assert got == [detokenized(kind, token) for token in range(len(vocab))]


def test_built_in_vocabularies_end_where_llama_cpp_ends(
    libllama: Libllama, models: dict[str, int]
) -> None:
    function: Any = libllama._library.llama_vocab_is_eog
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_int32], ctypes.c_bool
    for kind in KINDS:
        vocab = read_vocab(vocab_path(kind))
        ends = {token for token in range(len(vocab)) if function(models[kind], token)}
        assert vocab.eog == ends
        for name, value in (("eos", vocab.eos), ("eot", vocab.eot)):
            native: Any = getattr(libllama._library, f"llama_vocab_{name}")
            native.argtypes = [ctypes.c_void_p]
            assert native(models[kind]) == value


def test_vocab_refuses_what_it_does_not_cover() -> None:
    with pytest.raises(ChainError, match=r"^vocabulary kind must be bpe or spm, got 'wpm'$"):
        Vocab("wpm", (), ())
    with pytest.raises(
        ChainError, match=r"^vocabularies with user-defined tokens are not supported"
    ):
        Vocab("bpe", ("a",), (TokenType.USER_DEFINED,))

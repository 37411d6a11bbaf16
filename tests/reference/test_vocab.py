"""reference.vocab against llama.cpp's tokenizer, on the two built-in vocabularies."""

import ctypes

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.reference import ChainError, Vocab
from sampler_parity.reference.vocab import TokenType

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


class NativeVocab:
    """A built-in vocabulary, asked by functions of llama.h."""

    def __init__(self, libllama: Libllama, kind: str) -> None:
        model = libllama.load_model(vocab_path(kind), vocab_only=True)
        self.libllama, self.library = libllama, libllama._library
        self.vocab = ctypes.c_void_p(libllama.llama_model_get_vocab(model))
        self.library.llama_vocab_is_eog.restype = ctypes.c_bool

    def tokenize(self, text: bytes) -> list[int]:
        out = (ctypes.c_int32 * 512)()
        n = self.libllama.llama_tokenize(self.vocab, text, len(text), out, 512, False, False)
        assert n >= 0
        return out[:n]

    def piece(self, token: int, special: bool) -> bytes:
        """Return the piece without stripping."""
        buffer = ctypes.create_string_buffer(256)
        n = self.library.llama_token_to_piece(self.vocab, token, buffer, 256, 0, special)
        assert n >= 0
        return buffer.raw[:n]

    def detokenize(self, token: int) -> bytes:
        """Return the text of one token, special tokens kept and spelled out."""
        buffer, tokens = ctypes.create_string_buffer(256), (ctypes.c_int32 * 1)(token)
        n = self.library.llama_detokenize(self.vocab, tokens, 1, buffer, 256, False, True)
        assert n >= 0
        return buffer.raw[:n]


@pytest.fixture(scope="module", params=["bpe", "spm"])
def both(request: pytest.FixtureRequest, libllama: Libllama) -> tuple[Vocab, NativeVocab]:
    return read_vocab(vocab_path(request.param)), NativeVocab(libllama, request.param)


@given(text=texts)
@example(text="")
@example(text=" ")
@example(text="hello world")
@example(text="a  b\n\n c")
@example(text="x's 's  's")
@examples
@pytest.mark.slow
def test_tokenize_gives_llama_cpps_tokens(both: tuple[Vocab, NativeVocab], text: str) -> None:
    vocab, native = both
    assert vocab.tokenize(text.encode()) == native.tokenize(text.encode())


@given(text=sliced)
@example(text="é".encode()[:1])
@example(text="🙂".encode()[:3])
@example(text=b"a" + "🙂".encode()[:2] + b"b")
@examples
@pytest.mark.slow
def test_tokenize_of_broken_utf8_gives_llama_cpps_tokens(
    both: tuple[Vocab, NativeVocab], text: bytes
) -> None:
    """The rest of a breaker after a token, and a breaker cut after 40 bytes, can begin and end
    inside a character.

    Overlong forms and surrogates cannot occur.
    """
    vocab, native = both
    assert vocab.tokenize(text) == native.tokenize(text)


@pytest.mark.parametrize("special", [False, True])
def test_pieces_are_llama_cpps(both: tuple[Vocab, NativeVocab], special: bool) -> None:
    vocab, native = both
    got = [vocab.piece(token, special) for token in range(len(vocab))]
    assert got == [native.piece(token, special) for token in range(len(vocab))]


def test_detokenize_gives_llama_cpps_text(both: tuple[Vocab, NativeVocab]) -> None:
    vocab, native = both
    got = [vocab.detokenize(token) for token in range(len(vocab))]
    assert got == [native.detokenize(token) for token in range(len(vocab))]


def test_built_in_vocabularies_end_where_llama_cpp_ends(both: tuple[Vocab, NativeVocab]) -> None:
    vocab, native = both
    is_eog = native.library.llama_vocab_is_eog
    assert vocab.eog == {token for token in range(len(vocab)) if is_eog(native.vocab, token)}
    assert vocab.eos == native.library.llama_vocab_eos(native.vocab)
    assert vocab.eot == native.library.llama_vocab_eot(native.vocab)


def test_vocab_refuses_what_it_does_not_cover() -> None:
    with pytest.raises(ChainError, match=r"^vocabulary kind must be bpe or spm, got 'wpm'$"):
        Vocab("wpm", (), ())
    with pytest.raises(
        ChainError, match=r"^vocabularies with user-defined tokens are not supported"
    ):
        Vocab("bpe", ("a",), (TokenType.USER_DEFINED,))

"""The reply to `skip_ratio`: the time that a token trie saves against a grammar, and its cost."""

from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from sampler_parity.harness.strict import StrictFigures

Mode = Literal["strict-guided", "strict-trie-ffi"]
Interval = tuple[float, float]
DECODE_MS = (0.2, 1, 5, 20, 100, 500)  # of a forward pass, from a toy to a large model


class Way(StrictFigures):
    """One way to generate the leaves. resampled_share: of its tokens, those that the grammar first
    refused. None: it takes no forward pass, as a trie of one leaf."""

    tokens_per_second: float
    forward_passes_per_token: float
    sampler_us_per_step: float | None
    decode_us_per_pass: float | None
    sampler_us_mean: float | None
    decode_us_mean: float | None
    resampled_share: float


class Modelled(StrictFigures):
    """The speed-up over grammar first that harness/trie/model.py makes of the means measured: here,
    and at other times of a forward pass. None: no forward pass."""

    here: float | None
    by_decode_ms: dict[str, float] | None


class OwnCosts(StrictFigures):
    """Median microseconds of one step's apply and accept, on candidates of the whole vocabulary."""

    masking: float
    compacting: float
    grammar: float


class SetCosts(StrictFigures):
    """Median microseconds of set_token_trie, for a payload met first and for one in the cache."""

    cold: float
    cached: float


class LeafDivergence(StrictFigures):
    """The effect of masks on the distribution of the leaves.

    kl_trie, kl_grammar: in nats, from the conditional, over leaves and over texts; None if there
    are too many spellings to walk. spellings: token sequences that the grammar takes; beyond_trie:
    the share of them that the trie does not.
    """

    kl_trie: float | None
    kl_grammar: float | None
    spellings: int
    beyond_trie: float


class Measured(StrictFigures):
    """The output of `trie-bench`; the token trie's document requires the first nine fields.
    docs/background/token-trie.md explains them.

    skip_ratio_exact: the mean by the reference's trie; skip_ratio_off: steps at which the sampler
    left another number of candidates. For a grammar they are None and 0. tokens_sha256: of the
    leaves taken, as int32, for comparison among devices.
    """

    mode: Mode
    model: str
    skip_ratio_mean: float
    skip_ratio_std: float
    tokens_per_second: float
    tokens_per_second_vs_grammar: float
    token_accuracy: float
    forward_passes_saved: int
    forward_passes_total: int
    skip_ratio_exact: float | None
    skip_ratio_off: int
    tokens_per_second_vs_grammar_ci95: Interval
    tokens_per_second_vs_resampling: float
    tokens_per_second_vs_resampling_ci95: Interval
    token_agreement_with_grammar: float
    text_accuracy: float
    n_vocab: int
    pairs: int
    ways: dict[str, Way]
    modelled: Modelled
    own_us_per_step: OwnCosts
    leaves: int
    leaf_tokens_mean: float
    shared_tokens: float
    trie_nodes: int
    trie_bytes: int
    set_token_trie_us: SetCosts
    read_grammar_us: float
    law: LeafDivergence
    version: str
    device: str
    tokens_sha256: str = ""

    @model_validator(mode="after")
    def _has_what_is_divided_by_and_looked_up(self) -> "Measured":
        required = (
            ("grammar_first", "trie") if self.mode == "strict-trie-ffi" else ("grammar_first",)
        )
        for method in required:
            if method not in self.ways:
                raise ValueError(f"ways lacks {method}")
        if not self.tokens_per_second_vs_grammar > 0:
            raise ValueError("tokens_per_second_vs_grammar is not above 0")
        if not self.own_us_per_step.grammar > 0:
            raise ValueError("own_us_per_step.grammar is not above 0")
        times = self.modelled.by_decode_ms
        if times is not None and times.keys() != {f"{ms:g}" for ms in DECODE_MS}:
            raise ValueError(f"modelled.by_decode_ms must have the times {[*DECODE_MS]}")
        return self

    @property
    def own_share(self) -> float:
        """The compacting trie's own cost of a step, of the grammar's."""
        return self.own_us_per_step.compacting / self.own_us_per_step.grammar


def _of_a_trie(measured: Measured) -> Measured:
    if measured.mode != "strict-trie-ffi":
        raise ValueError(f"mode is {measured.mode!r}, expected 'strict-trie-ffi'")
    return measured


OfTrie = Annotated[Measured, AfterValidator(_of_a_trie)]

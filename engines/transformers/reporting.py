"""Report the `logits` and `scores` that transformers' `generate` returns with a token, and the
value that `compute_transition_scores` gives to the token."""

import importlib
from functools import cache
from typing import Any

from sampler_parity.engines.shared.reported import most_likely, reported
from sampler_parity.engines.shared.stage_parameters import ANY_SEED
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec

MODES = ("logits", "scores", "transition_scores", "transition_scores_normalized")
_NAMES = {"temp": "temperature", "k": "top_k"}  # of our parameters; p is named as its stage


@cache
def _model(n_vocab: int) -> Any:
    """Make a model whose logits are its attribute `row`, whatever the tokens are."""
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    outputs = importlib.import_module("transformers.modeling_outputs")

    class OneRow(transformers.PreTrainedModel, transformers.GenerationMixin):  # type: ignore[misc, name-defined]
        config_class = transformers.PretrainedConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.one = torch.nn.Parameter(torch.zeros(1))
            self.row: Any = None

        def forward(self, input_ids: Any, **_given: Any) -> Any:
            shape = (*input_ids.shape, n_vocab)
            return outputs.CausalLMOutput(logits=self.row.expand(shape).clone())

    config = transformers.PretrainedConfig(vocab_size=n_vocab, is_encoder_decoder=False)
    return OneRow(config)


def arguments_of(chain: ChainSpec) -> tuple[dict[str, Any], int]:
    """Return the arguments of `generate`, whose filters are off, and the seed. Raises
    Unsupported."""
    given: dict[str, Any] = {"do_sample": True, "top_k": 0}
    seed = 0
    for stage in chain:
        for name, of in stage.items():
            if name == "dist":
                seed = of["seed"]
            elif name == "greedy":
                given["do_sample"] = False
            elif name in ("temp", "top_k", "top_p", "min_p"):
                given |= {_NAMES.get(key, name): x for key, x in of.items() if key != "min_keep"}
            elif name == "transformers_repetition_penalty":
                given["repetition_penalty"] = float(of["penalty"])
            elif name == "transformers_sequence_bias":
                given["sequence_bias"] = [[ids, float(bias)] for ids, bias in of["sequence_bias"]]
            else:
                raise Unsupported(f"no argument of generate: {name}")
    return given, seed


def report(
    chain: ChainSpec, row: Any, tokens: list[int], mode: str, top: int
) -> tuple[int, Result]:
    """Generate one token and list it; behind it the most likely ones, where a mode has the row."""
    torch = importlib.import_module("torch")
    model = _model(row.shape[-1])
    model.row = row[0]
    given, seed = arguments_of(chain)
    torch.seed() if seed == ANY_SEED else torch.manual_seed(seed)
    output = model.generate(
        torch.tensor([tokens or [0]]),
        max_new_tokens=1,
        use_cache=False,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        pad_token_id=0,
        **given,
    )
    token = int(output.sequences[0, -1])
    if mode in ("logits", "scores"):
        return token, most_likely(output[mode][0][0], token, top)
    scores = model.compute_transition_scores(
        output.sequences, output.scores, normalize_logits=mode.endswith("normalized")
    )
    return token, reported([token], scores[0])

"""Every number that decides what the model becomes, in one place."""

from dataclasses import dataclass

# One seed per stage, so that changing one stage leaves the others alone.
SYNTHETIC_SEED = 20_250_101
FIM_SEED = 20_250_102
TRAIN_SEED = 20_250_103

# How many synthetic documents of each kind are drawn (before duplicates go).
ACTION_DOCUMENTS = 3600
JSON_DOCUMENTS = 2400

# A document is held out when the first byte of the SHA-256 of its split key
# is below this: 13 / 256 is about five per cent.
HELD_OUT_BELOW = 13

# The share of the training documents that is also turned inside out for
# fill-in-the-middle.
FIM_SHARE = 0.10

# The specials come last: 256 bytes, the merges, then these.
SPECIALS = (
    "<|bos|>",
    "<|eos|>",
    "<|eot|>",
    "<|fim_prefix|>",
    "<|fim_suffix|>",
    "<|fim_middle|>",
)
VOCABULARY = 4096


@dataclass(frozen=True)
class Shape:
    """The dimensions of the network."""

    vocabulary: int = VOCABULARY
    width: int = 256
    layers: int = 4
    heads: int = 8
    feed_forward: int = 512
    context: int = 512
    rope_base: float = 10_000.0
    norm_epsilon: float = 1e-5


@dataclass(frozen=True)
class Schedule:
    """The optimiser's settings."""

    steps: int = 1300
    batch: int = 8
    peak_rate: float = 2.5e-3
    final_rate: float = 1e-4
    warm_up: int = 100
    weight_decay: float = 0.1
    clip: float = 1.0
    dropout: float = 0.1
    threads: int = 2

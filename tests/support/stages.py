"""One active setting of every sampler, so that each reads its input."""

from tests.support.applied import Spec

LAZY = {
    "grammar_str": "root ::= [^b-z]*",
    "grammar_root": "root",
    "trigger_patterns": [],
    "trigger_tokens": [1],
}
ACTIVE: Spec = [
    {"greedy": {}},
    {"dist": {"seed": 1}},
    {"top_k": {"k": 2}},
    {"top_p": {"p": 0.9}},
    {"min_p": {"p": 0.1}},
    {"typical_p": {"p": 0.9}},
    {"temp": {"temp": 0.7}},
    {"temp_ext": {"temp": 0.7, "delta": 0.3}},
    {"xtc": {"p": 1.0, "t": 0.1, "seed": 1}},
    {"top_n_sigma": {"n": 1.0}},
    {"mirostat": {"seed": 1}},
    {"mirostat_v2": {"seed": 1}},
    {"penalties": {"penalty_last_n": 8, "penalty_repeat": 1.3, "penalty_freq": 0.1}},
    {"dry": {"dry_multiplier": 0.8, "dry_allowed_length": 1}},
    {"logit_bias": {"logit_bias": [[0, 1.0], [1, -2.0]]}},
    {"adaptive_p": {"target": 0.3, "seed": 1}},
    {"softmax": {}},
    {"tail_free": {"z": 0.5, "min_keep": 1}},
    {"infill": {}},
    {"grammar": {"grammar_str": "root ::= [^b-z]*", "grammar_root": "root"}},
    {"grammar_lazy_patterns": LAZY},
]
NAME_IDS = [name for stage in ACTIVE for name in stage]

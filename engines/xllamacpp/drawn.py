"""Draw whole requests for llama-server at random: every field may come with every other one.

Values come from a wide mixture (random_requests.toml has their bounds and texts). No request is
made for one fault.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from sampler_parity.engines.xllamacpp.schemas import schema
from sampler_parity.programs.servers.dialects import Dialect, ServerParameter
from sampler_parity.reference.pipelines.common_chain import DEFAULT_ORDER
from sampler_parity.reference.vocab import Vocab

TABLE = tomllib.loads(Path(__file__).with_name("random_requests.toml").read_text(encoding="utf-8"))
_LETTERS = dict(zip((*DEFAULT_ORDER, "adaptive_p"), "edskypmxta", strict=True))
_NUMBER = (int, float)
_LISTED, _LONGEST, _MOST = 3000, 200, 1000  # entries in an answer; tokens; above any text
_SHAPES = ("grammar", "json_schema")
# These use draws or choices of their own, so that a text without a seed cannot be followed.
_OWN_DRAWS = ("xtc_probability", "mirostat", "adaptive_target", *_SHAPES)
_NO_SEED = (-1, None)
# A grammar refuses a token and draws again, two keep a state that comes from logits, and typical_p
# has an order of its own. So a near tie of one row does not show the effect of moved logits.
_ALONE = (*_SHAPES, "mirostat", "adaptive_target", "typical_p")
# What may be asked of an answer alone, and does not depend on the time.
_PARTS = (
    *("content", "tokens", "index", "stop", "model", "tokens_predicted", "tokens_evaluated"),
    *("generation_settings", "prompt", "has_new_line", "truncated", "stop_type", "stopping_word"),
    *("tokens_cached", "generation_settings/seed", "generation_settings/top_k", "no_such_field"),
    *("timings/predicted_n", "generation_settings/samplers", "completion_probabilities"),
)


@dataclass(frozen=True)
class DrawnRequest:
    """Hold a request. fields: as sent, besides the prompt. leaves: the client leaves the stream
    after so many events. names: other names of fields. parts: then the same is asked again, for
    these fields of the answer alone."""

    prompt: Any
    fields: dict[str, Any] = field(default_factory=dict)
    streamed: bool = False
    leaves: int | None = None
    names: dict[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()

    @property
    def sent(self) -> dict[str, Any]:
        """Return the fields by the names that are sent."""
        return {self.names.get(name, name): value for name, value in self.fields.items()}

    @property
    def seeded(self) -> bool:
        return self.fields.get("seed") not in _NO_SEED

    @property
    def several(self) -> bool:
        """Return whether there are several answers."""
        listed = isinstance(self.prompt, list) and not any(type(p) is int for p in self.prompt)
        return listed or self.fields.get("n_cmpl", 1) > 1


@dataclass(frozen=True)
class Source:
    """Draw requests. prompts: of tokens. size: of the context; 0: unknown. schemas: whether a text
    that obeys one can be followed."""

    rng: Random
    dialect: Dialect
    vocab: Vocab
    prompts: list[list[int]]
    read: Callable[[Any], list[int]]
    size: int
    schemas: bool = True

    @property
    def rows(self) -> dict[str, ServerParameter]:
        return {row.name: row for row in self.dialect.parameters if row.documented}

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def request(self) -> DrawnRequest:
        """Draw a request."""
        rng, rows = self.rng, self.rows
        neutral = self.dialect.neutral
        # Where tokens are about as likely as each other, each value of a filter has an effect.
        first = ["temperature", *DEFAULT_ORDER[:-1]]
        flat = {**neutral, "samplers": first, "temperature": 10 ** rng.uniform(0, 2.5)}
        base = rng.choice([{}, {}, neutral, flat])
        fields = {k: v for k, v in base.items() if k not in ("stop", "logit_bias")}
        names = rng.sample([*rows], rng.choice((0, 1, 1, 2, 2, 3, 5, 8, 12)))
        for name in names:
            for other in (name, *(rows[name].also if self.chance(0.8) else ())):
                fields[other] = self.value(other)
        fields["seed"] = self.value("seed")
        fields["n_predict"] = self._length()
        if self.chance(0.2):
            shape = rng.choice(_SHAPES)
            fields[shape] = self.value(shape)
        if "grammar" in fields or not self.schemas:
            fields.pop("json_schema", None)
        if not self._own_draws(fields) and self.chance(0.15):
            fields = self._without_seed(fields)
            fields["n_predict"] = max(fields["n_predict"], rng.randint(1, 40))
        if self.chance(0.7):
            self._ask_lists(fields)
        if self.chance(0.12):
            fields["cache_prompt"] = True
        prompt = self.prompt()
        if self.chance(0.03):
            fields["n_cmpl"] = rng.randint(1, min(self.dialect.slots, 3))
        elif self.chance(0.05):
            prompt = [self.prompt(short=True) for _ in range(rng.randint(1, 4))]
            if self.chance(0.5):
                prompt += rng.sample(prompt, 1)  # the same one again
        spelled = {
            name: rng.choice(others)
            for name, others in self.dialect.aliases.items()
            if name in fields and self.chance(0.1)
        }
        parts = rng.sample(_PARTS, rng.randint(1, 6)) if self.chance(0.1) else ()
        one = DrawnRequest(prompt, fields, self.chance(0.4), names=spelled, parts=tuple(parts))
        return self._sound(one)

    def _own_draws(self, fields: Mapping[str, Any]) -> bool:
        return any(fields.get(n) not in (None, self.rows[n].neutral) for n in _OWN_DRAWS)

    def _without_seed(self, fields: dict[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in fields.items() if name != "seed"}
        return rest if self.chance(0.3) else {**rest, "seed": self.rng.choice(_NO_SEED)}

    def again(self, request: DrawnRequest) -> DrawnRequest:
        """Return a request without a seed once more, which may state that in another way."""
        return replace(request, fields=self._without_seed(request.fields))

    def _sound(self, request: DrawnRequest) -> DrawnRequest:
        """Return a request that fits the context, with a seed where draws cannot be followed."""
        fields = {k: v for k, v in request.fields.items() if v != {}}
        if not request.seeded and self._own_draws(fields):
            fields["seed"] = self.rng.getrandbits(31)
        biases = fields.get("logit_bias") or []
        bans = [*biases.values()] if isinstance(biases, dict) else [bias for _, bias in biases]
        # With a ban or XTC no token may be left: the server answers 500.
        if any(fields.get(name) for name in _SHAPES):
            fields = {k: v for k, v in fields.items() if k not in ("ignore_eos", "xtc_probability")}
            if any(bias is False for bias in bans):
                del fields["logit_bias"]
        temperature, span = (
            self.rows[name].default if fields.get(name) is None else fields[name]
            for name in ("temperature", "dynatemp_range")
        )
        if temperature < 0:  # A range around it gives nan.
            fields.pop("dynatemp_range", None)
        elif span >= temperature:  # A p may then be nan, which JSON does not have.
            fields.pop("post_sampling_probs", None)
        # `truncated` is then true, although all tokens came.
        one_of_texts = request.several and fields.get("n_cmpl", 1) == 1
        prompts = request.prompt if one_of_texts else [request.prompt]
        while self.size - fields["n_predict"] in [len(self.read(prompt)) for prompt in prompts]:
            fields["n_predict"] += 1
        if not self.size:  # A context that is not known must not end a text.
            fields["n_predict"] = min(max(fields["n_predict"], 0), 64)
        return replace(request, fields=fields)

    def beside(self, request: DrawnRequest) -> DrawnRequest:
        """Return a request whose tokens can be followed although a batch moves its logits."""
        fields = {k: v for k, v in request.fields.items() if k not in _ALONE}
        order = fields.get("samplers")
        adaptive = _LETTERS["adaptive_p"] if isinstance(order, str) else "adaptive_p"
        if isinstance(order, str | list) and adaptive in order:
            del fields["samplers"]
        return replace(request, fields=fields)

    def variant(self, request: DrawnRequest) -> DrawnRequest:
        """Return a request that differs from another one in one thing, or in nothing."""
        fields, rng = dict(request.fields), self.rng
        name = rng.choice([*fields, "prompt", "stream", "nothing", "nothing"])
        if name == "prompt" and not request.several:
            return self._sound(replace(request, prompt=self.prompt()))
        if name == "stream":
            return replace(request, streamed=not request.streamed)
        if name == "n_predict":
            fields[name] = self._length()
            if "n_probs" in fields:
                self._ask_lists(fields)
        elif name == "n_probs":
            self._ask_lists(fields)
        elif name == "cache_prompt" or (name in self.rows and self.chance(0.4)):
            del fields[name]
        elif name in self.rows:
            fields[name] = self.value(name)
        return self._sound(replace(request, fields=fields))

    def with_stops(self, request: DrawnRequest, text: str) -> DrawnRequest:
        """Return a request with stop strings from the text that it has without them."""
        stops = [self._stop(text) for _ in range(self.rng.choice((1, 1, 1, 2, 3, 6, 20)))]
        stop = stops[0] if len(stops) == 1 and self.chance(0.2) else stops
        return replace(request, fields={**request.fields, "stop": stop})

    def _stop(self, text: str) -> str:
        rng, at = self.rng, self.rng.randrange(len(text))
        stop = text[at : at + rng.choice((1, 1, 2, 3, 4, 6, 9, 15, 40))]
        kind = rng.random()
        if kind < 0.25:
            return f"{stop}{rng.choice(TABLE['texts']['pieces'])}"
        return stop.swapcase() if kind < 0.3 else self._text(1) if kind < 0.4 else stop

    def broken(self, request: DrawnRequest) -> DrawnRequest:
        """Return a request with a value that the server refuses."""
        row = self.rng.choice([row for row in self.rows.values() if row.beyond is not None])
        return replace(request, fields={**request.fields, row.name: row.wrong}, streamed=False)

    def _length(self) -> int:
        spans = ((0, 2), (1, 1), (1, 5), (4, 16), (16, 60), (60, _LONGEST), (-1, -1))
        return self.rng.randint(*self.rng.choices(spans, (2, 4, 6, 6, 1.5, 0.4, 0.1))[0])

    def _ask_lists(self, fields: dict[str, Any]) -> None:
        """Ask for probabilities, of as many tokens as an answer may list."""
        n, most = len(self.vocab), _LISTED // (fields["n_predict"] % _MOST or 1)
        count = self.rng.choice((1, 2, 5, 10, 33, 100, 300, n - 1, n, n + 1))
        fields["n_probs"] = max(1, min(count, most)) if count < n - 1 or most < 1000 else count
        fields["post_sampling_probs"] = self.chance(0.75)

    def value(self, name: str) -> Any:
        """Draw a value of a parameter; None stands for its default."""
        row, rng = self.rows[name], self.rng
        if row.default is not None and self.chance(0.03):
            return None
        if name in TABLE["bounds"]:
            return self._number(row, *TABLE["bounds"][name])
        if name == "seed":
            low = rng.choice((0, 0, 1 << 31, 1 << 24))
            seeds = (-1, rng.randrange(20), 1 << rng.randrange(32), rng.getrandbits(32) | low)
            return min(rng.choices(seeds, (1, 2, 2, 10))[0], (1 << 32) - 2)
        if name == "samplers":
            names = [*DEFAULT_ORDER, *["adaptive_p"] * self.chance(0.1)]
            order = rng.sample(names, rng.randint(1, len(names)))
            order += rng.choices(order, k=rng.choice((0, 0, 0, 1, 3)))
            return "".join(map(_LETTERS.__getitem__, order)) if self.chance(0.3) else order
        if name == "logit_bias":
            return self._biases()
        if name == "stop":
            return [self._text(1) for _ in range(rng.choice((0, 1, 2, 4, 8, 20)))]
        if name == "dry_sequence_breakers":
            return [self._text(1) for _ in range(rng.choice((1, 2, 5, 20)))]
        if name == "json_schema":
            return schema(rng)
        if name == "grammar":
            rule = rng.choice(TABLE["grammars"]["texts"])
            return rule + f'\nunused ::= "{"x" * (1 << rng.randrange(14))}"' * self.chance(0.2)
        return rng.choice((True, False)) if row.effective is True else self._length()

    def _number(self, row: ServerParameter, low: float, high: float) -> float:
        rng, whole = self.rng, type(low) is int
        named = [row.neutral, row.effective, row.default, *row.ladder, *row.exact]
        usual = [v for v in named if type(v) in _NUMBER and low <= v <= high]
        n = len(self.vocab)
        size = rng.choice((1 << rng.randrange(1, 13), 10 ** rng.randrange(4), n))
        near = min(high, max(1.0, *(abs(v) for v in usual)))
        value = rng.choice(
            (
                rng.choice(usual),
                rng.uniform(max(low, -near), near),
                rng.uniform(max(low, -near), near),
                rng.choice((1, -1)) * 10 ** rng.uniform(-4, 1),
                rng.choice((1, -1)) * 10 ** rng.uniform(-4, 3),
                rng.choice((low, high, 0, 1, -1)),
                size + rng.choice((-1, 0, 0, 1)),
                1 - 10 ** rng.uniform(-4, -1),
                round(rng.uniform(max(low, -near), near), rng.randrange(3)),
            )
        )
        value = min(max(value, low), high)
        if whole or (value == round(value) and self.chance(0.5)):
            return float(round(value)) if self.chance(0.15) else round(value)
        return value

    def _biases(self) -> Any:
        """Draw biases of tokens and texts, in one of the forms."""
        rng, n = self.rng, len(self.vocab)
        pairs: list[list[Any]] = []
        for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 10, 40, 300))):
            prompt = rng.choice(self.prompts)
            tokens = (rng.choice(prompt), rng.randrange(300), rng.randrange(n), 0, n - 1, n)
            token = rng.choices((*tokens, self._text(1)), (6, 6, 2, 1, 1, 1, 2))[0]
            size = rng.choice((10 ** rng.uniform(-3, 1), 10 ** rng.uniform(0, 3)))
            bias = rng.choice((size, size, -size, -size, round(size), round(-size), False))
            pairs.append([token, bias])
        if not self.chance(0.3):
            return pairs
        return {str(token): bias for token, bias in pairs}

    def _text(self, most: int) -> str:
        rng, text = self.rng, ""
        for _ in range(rng.randint(1, most)):
            text += rng.choice(TABLE["texts"]["joints"]) if most > 1 else ""
            text += rng.choice(TABLE["texts"]["pieces"]) * rng.choice((1, 1, 1, 2, 3, 8))
        return text

    def prompt(self, short: bool = False) -> Any:
        """Draw a prompt that leaves at least a place for a token in the context."""
        rng, most = self.rng, (self.size or 300) - 2
        long = self.chance(0.04) and not short
        tokens = rng.choice(self.prompts)
        tokens = tokens * 30 if long else tokens[: rng.randint(1, 40)]
        at_random = [rng.randrange(len(self.vocab)) for _ in range(rng.randint(1, 9))]
        part = tokens[rng.randrange(len(tokens)) :][: rng.randint(1, 6)]
        text = self._text(150 if long else rng.choice((1, 3, 10, 20))) * rng.choice((1, 1, 1, 3))
        mixed = [*at_random, text, *part, self._text(2)][rng.randrange(2) :]
        kinds = (tokens, at_random, part * rng.randint(2, 12), part + tokens, text, mixed, "")
        prompt = rng.choices(kinds, (4, 1, 4, 1, 8, 2, 0.3))[0]
        while len(self.read(prompt)) > most:
            prompt = prompt[: len(prompt) * 7 // 8] or ""
        return prompt


def stated(fields: Mapping[str, Any], vocab: Vocab) -> dict[str, Any]:
    """Return fields in the form that the reference takes: letters as names, texts as tokens, and no
    null. Source: eval_llama_cmpl_schema of tools/server/server-schema.cpp."""
    plain = {name: value for name, value in fields.items() if value is not None}
    if plain.get("seed") == -1:
        del plain["seed"]
    if isinstance(stop := plain.get("stop"), str):
        plain["stop"] = [stop]
    if isinstance(letters := plain.get("samplers"), str):
        names = {letter: name for name, letter in _LETTERS.items()}
        plain["samplers"] = [names[letter] for letter in letters]
    pairs = plain.get("logit_bias") or []
    if isinstance(pairs, dict):
        pairs = [[int(key) if key.isdecimal() else key, bias] for key, bias in pairs.items()]
    plain["logit_bias"] = [
        [token, bias]
        for named, bias in pairs
        for token in ([named] if type(named) is int else vocab.tokenize(named.encode()))
        if 0 <= token < len(vocab)
    ]
    for name, (low, _) in TABLE["bounds"].items():
        if type(low) is int and name in plain:
            plain[name] = int(plain[name])
    return plain

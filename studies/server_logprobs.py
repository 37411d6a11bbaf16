"""The kind of log-probability that a real server returns, by endpoint and parameters.

    python -m studies.server_logprobs [SERVER]...

Each server runs the golden model. Three prompts are asked for three tokens with each setting, and
the values of the drawn token and of the listed ones are compared with the kinds of the suite
(harness/checks/logprobs.py), computed from the model's logits. A line names the kinds that fit
every value; the last line of an endpoint names those that fit in every setting. A setting that the
dialect does not have is left out. At temperature 0 the drawn token alone is kept.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sampler_parity.harness.checks.logprobs import KINDS, LogprobsBlock, LogprobsCase, exact, near
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.protocol.client import Row
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.answer import Answer, TokenProbability, TokenReport
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS, Dialect
from sampler_parity.programs.servers.launch import real_servers, started
from sampler_parity.programs.servers.oracle import registry
from sampler_parity.programs.servers.oracle.model import DecodedModel, KnownModel

TOP, LENGTH, PROMPTS = 5, 3, 3
BIASED = {260: 3.0, 281: -4.0}
PENALTY = 1.5


@dataclass(frozen=True)
class Setting:
    """The parameters of a request."""

    temperature: float = 1.0
    filters: Mapping[str, float] | None = None
    biased: bool = False
    penalized: bool = False

    def sent(self, dialect: Dialect) -> dict[str, Any]:
        sent: dict[str, Any] = {"temperature": self.temperature, **(self.filters or {})}
        if self.biased:
            pairs = [[token, bias] for token, bias in BIASED.items()]
            by_id = {str(token): bias for token, bias in BIASED.items()}
            sent["logit_bias"] = pairs if dialect.text == "llama-server" else by_id
        if self.penalized:
            sent["presence_penalty"] = PENALTY
        return sent

    def chain(self, first: bool) -> ChainSpec:
        """Return the stages of the parameters. first: the temperature stands before filters."""
        bias = [[token, bias] for token, bias in BIASED.items()]
        chain: ChainSpec = [{"logit_bias": {"logit_bias": bias}}] if self.biased else []
        if self.penalized:
            chain.append({"penalties": {"penalty_last_n": 64, "penalty_present": PENALTY}})
        greedy: ChainSpec = [{"top_k": {"k": 1}}]
        temp: ChainSpec = [{"temp": {"temp": self.temperature}}] if self.temperature else greedy
        cut: ChainSpec = [
            {name: {"k": int(value)} if name == "top_k" else {"p": value}}
            for name, value in (self.filters or {}).items()
        ]
        return [*chain, *(temp + cut if first else cut + temp), {"dist": {"seed": 1}}]


SETTINGS = {
    "neutral": Setting(),
    "temperature 0": Setting(0.0),
    "temperature 0.5": Setting(0.5),
    "temperature 2": Setting(2.0),
    "top_k 3": Setting(filters={"top_k": 3}),
    "top_p 0.6": Setting(filters={"top_p": 0.6}),
    "min_p 0.1": Setting(filters={"min_p": 0.1}),
    "presence_penalty": Setting(penalized=True),
    "logit_bias": Setting(biased=True),
    "all": Setting(0.5, {"top_k": 4, "top_p": 0.9}, biased=True, penalized=True),
}


@dataclass(frozen=True)
class Endpoint:
    """What a server is asked by. probabilities: those that come are taken for their logarithms."""

    name: str
    dialect: Dialect
    streams: bool = False
    probabilities: bool = False


def endpoints(server: str) -> list[Endpoint]:
    own = DIALECTS[real_servers()[server].dialect]
    streamed = Endpoint(f"{own.path}, a stream", own, streams=True)
    found = [Endpoint(own.path, own), *([] if server == "mlx-lm" else [streamed])]
    if server == "llama-server":
        post = replace(own, probabilities=own.probabilities | {"post_sampling_probs": True})
        openai = replace(own, path="/v1/completions", text="openai", probabilities={"logprobs": 5})
        found.append(Endpoint("/completion, post_sampling_probs", post, probabilities=True))
        found.append(Endpoint("/v1/completions", openai))
    chat = replace(own, path="/v1/chat/completions", text="openai", chat=True, drawn={}, always={})
    return [*found, Endpoint(chat.path, replace(chat, probabilities=_CHAT, length="max_tokens"))]


_CHAT = {"logprobs": True, "top_logprobs": TOP}


def prompt_of(server: str, address: Address, text: str) -> str:
    """Return the text that a server makes of a message."""
    if server == "llama-server":
        sent = {"messages": [{"role": "user", "content": text}]}
        return str(http.ask(address, "/apply-template", sent).data["prompt"])
    if server == "llama-cpp-python":
        from llama_cpp.llama_chat_format import format_llama2

        return str(format_llama2([{"role": "user", "content": text}]).prompt)
    return f"USER: {text}\nASSISTANT:"  # convert_chat of mlx_lm/server.py, without a template


@dataclass(frozen=True)
class Reported:
    """The values of one token by id, the drawn one first, and what they are compared with."""

    ids: Sequence[int]
    values: Any
    kinds: dict[str, Any]
    row: Row

    def fits(self, kind: str, rounding: float) -> bool:
        return near(self.values, self.kinds[kind][[*self.ids]], self.row, rounding)


def kinds_of(chain: ChainSpec, row: Row, history: Sequence[int]) -> dict[str, Any]:
    """Return float64[n_vocab] of each kind for a row of logits."""
    block = LogprobsBlock.model_validate(
        {
            "id": "server", "description": "A server", "why": "A server.", "modes": {"m": "raw"},
            "logits": {"row": {"family": "normal", "n": len(row), "seed": 1}}, "rows": 1,
            "top": TOP, "history": [*history],
        }
    )  # fmt: skip
    (case,) = block.items({"x": chain})
    assert isinstance(case, LogprobsCase)
    return dict(zip(KINDS, exact(prepare(case), row), strict=True))


def id_of(one: TokenProbability, known: KnownModel) -> int:
    """Return the id of a token; -1 where its text may be several, or has parts of characters: the
    entries of some tokens before are then missing."""
    if "\ufffd" in one.text:
        return -1
    found = [one.id] if one.id >= 0 else known.tokens_by_text.get(one.text, [])
    return found[0] if len(found) == 1 else -1


def reported(
    model: DecodedModel, answer: Answer, prompt: list[int], setting: Setting, endpoint: Endpoint
) -> Iterator[Reported]:
    """Yield what comes with each token, up to one whose text may be several tokens."""
    known, dialect = model.known, endpoint.dialect
    drawn = [id_of(report.token, known) for report in answer.reports]
    count = drawn.index(-1) if -1 in drawn else len(drawn)
    rows = model.rows(prompt, drawn[: max(count - 1, 0)], answer)
    for i in range(count):
        pairs = [(id_of(one, known), one.logprob) for one in answer.reports[i].top]
        pairs = [(drawn[i], answer.reports[i].token.logprob), *pairs]
        listed = [(token, value) for token, value in pairs if token >= 0]
        values = np.array([value for _, value in listed])
        with np.errstate(divide="ignore"):
            values = np.log(values) if endpoint.probabilities else values
        read = prompt[len(prompt) - PENALIZED.get(dialect.name, len(prompt)) :]
        kept = [*read, *drawn[:i]]
        kinds = kinds_of(setting.chain(dialect.temperature_first), rows[i], kept)
        yield Reported([token for token, _ in listed], values, kinds, rows[i])


# How many tokens at the end of the prompt a presence penalty counts, where it is not all of them.
PENALIZED = {"vllm": 0, "llama-cpp-python": 0, "mlx-lm": 1}


def line(name: str, of: Sequence[Reported], rounding: float) -> tuple[str, set[str]]:
    """Return a line of a setting, and the kinds that fit all of its values."""
    if not of:
        return f"  {name:<18} no values", {*KINDS}
    fitting = [kind for kind in KINDS if all(one.fits(kind, rounding) for one in of)]
    drawn = [kind for kind in KINDS if all(first(one).fits(kind, rounding) for one in of)]
    listed = sum(one.ids[0] in one.ids[1:] for one in of)
    counts = sorted({len(one.ids) - 1 for one in of})
    ordered = all(in_order(one) for one in of)
    said = ", ".join(fitting) or f"none; of the drawn token {', '.join(drawn) or 'none'}"
    where = f"{len(of)} tokens, {'/'.join(map(str, counts))} listed, drawn among them {listed}"
    return f"  {name:<18} {said} ({where}{'' if ordered else ', unordered'})", {*fitting}


def in_order(one: Reported) -> bool:
    """Return whether the list falls, but for the drawn token, which OpenAI's has at any place."""
    rest = [value for i, value in zip(one.ids[1:], one.values[1:], strict=True) if i != one.ids[0]]
    return rest == sorted(rest, reverse=True)


def first(one: Reported) -> Reported:
    return replace(one, ids=one.ids[:1], values=one.values[:1])


def measure(server: str) -> None:
    real = real_servers()[server]
    with started(real, model_path(GOLDEN)) as address:
        oracle = registry.oracle_of_server(server, 1)
        model = oracle.model if oracle else registry.model_of_own_generator(server)
        assert model is not None
        if oracle is None:
            model = registry.with_own_logits(server, model)
        with closing(model.logits()) as logits:
            for endpoint in endpoints(server):
                print(f"{server} {endpoint.name}")
                measure_endpoint(server, endpoint, address, DecodedModel(model, logits))


def measure_endpoint(
    server: str, endpoint: Endpoint, address: Address, model: DecodedModel
) -> None:
    dialect, known, left = endpoint.dialect, model.known, {*KINDS}
    client = Client(address, dialect)
    ask = client.streamed if endpoint.streams else client.complete
    has = {row.name for row in dialect.parameters if row.documented}
    for name, setting in SETTINGS.items():
        found: list[Reported] = []
        refusal = ""
        if missing := setting.sent(dialect).keys() - has:
            print(f"  {name:<18} the dialect has no {', '.join(sorted(missing))}")
            continue
        for i, prompt in enumerate([*known.prompts.values()][:PROMPTS]):
            text = replace(known, text_prompts=True).prompt_as_sent(prompt)
            assert isinstance(text, str)
            shown: str | list[int] = text if dialect.chat else known.prompt_as_sent(prompt)
            read = known.prompt_as_read(prompt)
            if dialect.chat:
                template = prompt_of(server, address, text)
                read = [*prompt[: known.adds_bos], *known.vocab.tokenize(template.encode())]
            sent = {**neutral(endpoint), **dialect.drawn, **dialect.probabilities}
            sent |= {dialect.length: LENGTH, "seed": i + 1, **setting.sent(dialect)}
            answer = ask(shown, sent)
            if server == "mlx-lm" and not answer.refusal:  # drawn tokens come without a list alone
                alone = ask(shown, {k: v for k, v in sent.items() if k != "top_logprobs"}).reports
                pairs = zip(alone, answer.reports, strict=True)
                both = tuple(TokenReport(own.token, one.top) for own, one in pairs)
                answer = replace(answer, reports=both)
            refusal = answer.refusal or refusal
            found += reported(model, answer, read, setting, endpoint)
        printed, fitting = line(name, found, known.rounding)
        print(printed + (f" refused: {refusal}" if refusal else ""), flush=True)
        left &= fitting
    print(f"  in every setting   {', '.join(sorted(left)) or 'none'}", flush=True)


def neutral(endpoint: Endpoint) -> dict[str, Any]:
    """Return all parameters at values without effect, and an order with the temperature last."""
    own = dict(endpoint.dialect.neutral)
    own.pop("samplers", None)
    return own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", nargs="*", help="default: all")
    for server in parser.parse_args().server or real_servers():
        measure(server)


if __name__ == "__main__":
    main()

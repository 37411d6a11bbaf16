"""`python -m studies.blind_servers`: the check that catches each fault of a list made blind.

The list is docs/results/blind-servers.md. Each fault stands in a proxy in front of a real
llama-server. Its docstring states how it shows. The groups of `server check` run first; if they
catch nothing, the predicted tokens of `server start llama-server --each 2` follow.

Arguments are names of faults. All by default, between two runs of the faithful proxy. `again` as
the first argument chooses the second list, studies/blind_servers_again.py, and `third` to `sixth`
those after it. `random` asks the random requests first. `plain` leaves the predicted tokens out.
"""

import json
import math
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sampler_parity.engines.xllamacpp.random_requests import check_random
from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.servers.launch import real_servers, started
from sampler_parity.harness.servers.run import (
    CheckGroup,
    check_of_started,
    groups_of,
    run_checks,
)
from studies import (
    blind_servers_again,
    blind_servers_fifth,
    blind_servers_fourth,
    blind_servers_sixth,
    blind_servers_third,
)
from studies.faulty_proxy import Answers, Body, Exchange, Fault, Faults, between, number, told

FAULTS = Faults()
MAIN = 40  # The faults after these replace those that a planted fault repeats.
fault, edit = FAULTS.fault, FAULTS.edit


# Seeds


@edit
def seed_zero_is_none(body: Body) -> None:
    """Seed 0 is taken as no seed. It shows when seed 0 is sent twice."""
    if body.get("seed") == 0:
        del body["seed"]


@edit
def seed_with_high_bit_is_random(body: Body) -> None:
    """Make a seed random that is negative as an int32. It shows when such a seed is sent twice."""
    if (number(body, "seed") or 0) >= 2**31:
        del body["seed"]


@edit
def seed_as_float32(body: Body) -> None:
    """Lose low bits of a seed above 2^24. It shows when two such neighbours give one text."""
    seed = number(body, "seed")
    if seed is not None and 0 <= seed < 2**32 - 256:
        body["seed"] = int(struct.unpack("f", struct.pack("f", seed))[0])


@fault
class SeedCountsOnConnection(Fault):
    """The generator is made once for a connection. It shows in a second request on one that is
    kept alive: its seed gives another text."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if (seed := number(body, "seed")) is not None:
            body["seed"] = seed + exchange.nth


@edit
def no_seed_is_the_second(body: Body) -> None:
    """Take the clock's second where no seed is sent. It shows in two requests at once."""
    if body.get("seed", -1) == -1:
        body["seed"] = int(time.time())


@fault
class CoalescedWithoutSeed(Fault):
    """A request waits for an equal one under way, and the seed is not compared. It shows in two
    requests at once that differ in the seed alone."""

    def key(self, body: Body) -> Body:
        return {k: v for k, v in body.items() if k != "seed"}

    def at_once(self, exchange: Exchange) -> Body | None:
        if exchange.streamed:
            return None
        for other in exchange.others:
            if not other.streamed and self.key(other.asked) == self.key(exchange.asked):
                deadline = time.monotonic() + 5
                while other.answer is None and time.monotonic() < deadline:
                    time.sleep(0.002)
                return other.answer
        return None


@fault
class SeedLostEachFiftieth(Fault):
    """Each 50th request loses its seed. It shows when a seed is repeated 50 times."""

    count = 0

    def ask(self, body: Body, exchange: Exchange) -> None:
        self.count += 1
        if self.count % 50 == 0:
            body.pop("seed", None)


# State between requests


@fault
class TwoRefusalsLoseTemperature(Fault):
    """After two refused requests in a row the next one has the default temperature. It shows in a
    request at temperature 2 after two that are refused."""

    count = 0

    def ask(self, body: Body, exchange: Exchange) -> None:
        if self.count >= 2:
            body.pop("temperature", None)
        self.count = 0 if self.count >= 2 else self.count

    def refused(self, exchange: Exchange) -> None:
        self.count += 1

    def answer(self, answer: Body, exchange: Exchange) -> None:
        self.count = 0


@fault
class CachedWithoutLength(Fault):
    """Answers with a seed are cached, and n_predict is not in the key. It shows when the same
    request is sent again with a larger n_predict."""

    def __init__(self) -> None:
        self.cache: dict[str, Body] = {}

    def key(self, exchange: Exchange) -> str:
        return json.dumps({k: v for k, v in exchange.asked.items() if k != "n_predict"})

    def at_once(self, exchange: Exchange) -> Body | None:
        return None if exchange.streamed else self.cache.get(self.key(exchange))

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if number(exchange.asked, "seed") is not None:
            self.cache[self.key(exchange)] = answer


@fault
class GrammarCachedByBeginning(Fault):
    """Compiled grammars are cached by their first 12 characters. It shows in a grammar after
    another one with the same beginning."""

    def __init__(self) -> None:
        self.cache: dict[str, str] = {}

    def ask(self, body: Body, exchange: Exchange) -> None:
        if isinstance(text := body.get("grammar"), str):
            body["grammar"] = self.cache.setdefault(text[:12], text)

    def refused(self, exchange: Exchange) -> None:
        self.cache.pop(str(exchange.asked.get("grammar"))[:12], None)


@fault
class BiasesAddUp(Fault):
    """The list of biases is not cleared before the next one is read. It shows in a request with a
    bias after one with another bias."""

    def __init__(self) -> None:
        self.before: list[Any] = []

    def ask(self, body: Body, exchange: Exchange) -> None:
        if isinstance(biases := body.get("logit_bias"), list) and biases:
            body["logit_bias"] = self.before + biases
            self.before = biases
        elif not biases:
            self.before = []


@fault
class LeftTextInCache(Fault):
    """The tokens of a stream that a client left stay after the prompt. It shows in a request with
    the same prompt after a stream that is left."""

    def __init__(self) -> None:
        self.text: dict[str, str] = {}

    def ask(self, body: Body, exchange: Exchange) -> None:
        if isinstance(prompt := body.get("prompt"), str):
            body["prompt"] = prompt + self.text.pop(prompt, "")

    def left(self, exchange: Exchange) -> None:
        if isinstance(prompt := exchange.asked.get("prompt"), str):
            self.text[prompt] = exchange.text


@fault
class ReplicaWithOtherDefault(Fault):
    """Every second request goes to a replica with min_p 0 as its default. It shows when a request
    without min_p is repeated with seeds at a high temperature."""

    count = 0

    def ask(self, body: Body, exchange: Exchange) -> None:
        self.count += 1
        if self.count % 2 == 0:
            body.setdefault("min_p", 0.0)


# Parameters


@edit
def temperature_at_most_two(body: Body) -> None:
    """Make temperatures above 2 a 2. It shows when 2 and 6 give the same text."""
    if (number(body, "temperature") or 0) > 2:
        body["temperature"] = 2.0


@edit
def temperature_one_is_unset(body: Body) -> None:
    """Leave out temperature 1, OpenAI's default. It shows when 1 gives the text of 0.8."""
    if body.get("temperature") == 1:
        del body["temperature"]


@edit
def top_k_zero_is_default(body: Body) -> None:
    """Make top_k 0 a 40. It shows at a high temperature, with min_p and top_p off."""
    if body.get("top_k") == 0:
        del body["top_k"]


@edit
def top_p_lost_beside_min_p(body: Body) -> None:
    """Lose top_p if min_p is sent, too. It shows with a small top_p and min_p 0.01."""
    if body.get("min_p"):
        body["top_p"] = 1.0 if "top_p" in body else 0.95


@edit
def typical_p_as_top_p(body: Body) -> None:
    """Send typical_p as top_p. It shows when typical_p 0.3 gives the text of top_p 0.3."""
    if "typical_p" in body:
        body["top_p"] = body.pop("typical_p")


@edit
def presence_and_frequency_swapped(body: Body) -> None:
    """Swap the two penalties. It shows with a forced token: its count stays under a
    presence penalty alone."""
    names = ("presence_penalty", "frequency_penalty")
    values = [body.pop(name, 0.0) for name in names]
    body |= dict(zip(names, reversed(values), strict=True))


@edit
def frequency_as_integer(body: Body) -> None:
    """Cut off the fraction of a frequency penalty. It shows when 0.9 gives the text of 0."""
    if (value := number(body, "frequency_penalty")) is not None:
        body["frequency_penalty"] = math.trunc(value)


@edit
def length_zero_is_default(body: Body) -> None:
    """Make n_predict 0 a 16. It shows in a text of more than one token."""
    if body.get("n_predict") == 0:
        body["n_predict"] = 16


@edit
def last_n_of_everything_is_default(body: Body) -> None:
    """Make repeat_last_n -1 a 64. It shows in a word that comes again after 64 tokens."""
    if body.get("repeat_last_n") == -1:
        body["repeat_last_n"] = 64


@edit
def mirostat_one_is_two(body: Body) -> None:
    """Make mirostat 1 a 2. It shows when both give the same text."""
    if body.get("mirostat") == 1:
        body["mirostat"] = 2


@edit
def samplers_in_fixed_order(body: Body) -> None:
    """Run the listed samplers in the default order. It shows when temperature 3
    before top_p gives the text of top_p before temperature 3."""
    order = ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc"]
    if isinstance(names := body.get("samplers"), list):
        known = [name for name in [*order, "temperature"] if name in names]
        body["samplers"] = known + [name for name in names if name not in known]


@edit
def ban_as_false_is_zero(body: Body) -> None:
    """Take a bias of false, which bans a token, as 0. It shows when the first token is banned."""
    if isinstance(biases := body.get("logit_bias"), list):
        for row in biases:
            if isinstance(row, list) and row[1:] == [False]:
                row[1] = 0.0


@edit
def bias_as_integer(body: Body) -> None:
    """Cut off the fraction of a bias. It shows when biases of 0.9 on many tokens change nothing."""
    if isinstance(biases := body.get("logit_bias"), list):
        for row in biases:
            if isinstance(row, list) and len(row) == 2 and isinstance(row[1], float):
                row[1] = math.trunc(row[1])


@edit
def bias_as_object_lost(body: Body) -> None:
    """Lose biases that are an object, {"300": 1000}. It shows when they force a token."""
    if isinstance(body.get("logit_bias"), dict):
        del body["logit_bias"]


@edit
def stop_trimmed(body: Body) -> None:
    """Trim spaces around a stop string. It shows with a stop " a" and a word with an a in
    its middle."""
    if isinstance(stops := body.get("stop"), list):
        body["stop"] = [s.strip() if isinstance(s, str) else s for s in stops]


@edit
def dry_length_at_most_two(body: Body) -> None:
    """Make dry_allowed_length at most 2. It shows when 2 and 6 give the same text."""
    if (number(body, "dry_allowed_length") or 0) > 2:
        body["dry_allowed_length"] = 2


# Streams


@fault
class BlankPieceLost(Fault):
    """A piece of a stream that is only white space is lost. It shows when the pieces are compared
    with the whole text."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        return bool(piece.get("stop") or piece.get("content", "x").strip())


@fault
class HeldBackTextLost(Fault):
    """Text held back as the possible beginning of a stop string is lost at the end of a stream. It
    shows in a stream that ends on the first letters of a stop string."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        stops = [s for s in exchange.asked.get("stop") or [] if isinstance(s, str)]
        held = [exchange.text[-1:] == s[:1] != "" for s in stops]
        if piece.get("stop_type") == "limit" and any(held):
            piece["content"] = ""
        if not piece.get("stop") and any(held):
            wanted = number(exchange.asked, "n_predict")
            return bool(piece.get("tokens_predicted", 0) != wanted)
        return True


@fault
class SamplersLostInStreamWithProbabilities(Fault):
    """A stream with n_probs ignores `samplers`. It shows in such a stream."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if exchange.streamed and body.get("n_probs"):
            body.pop("samplers", None)


# Clients at once


@fault
class PenaltiesLostInBatch(Fault):
    """A request that begins during another one has no penalties. It shows in two at once."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if exchange.others:
            for name in ("repeat_penalty", "presence_penalty", "frequency_penalty"):
                body.pop(name, None)


@fault
class TemperatureOfOpenStream(Fault):
    """A request that begins during an open stream has the stream's temperature. It shows in a
    request with temperature 0 during a stream with 2."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        for other in exchange.others:
            if other.streamed and "temperature" in other.asked:
                body["temperature"] = other.asked["temperature"]


@fault
class ProbabilitiesOfNeighbour(Fault):
    """The text is right, and the probabilities are those of a request at the same time. It shows
    in two requests at once with n_probs."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        rows = told(answer)
        for other in exchange.others:
            if rows and other.answer and len(told(other.answer)) >= len(rows):
                answer["completion_probabilities"] = told(other.answer)[: len(rows)]


# Answers


@fault
class ProbabilitiesInBaseTen(Fault):
    """Logarithms are to base 10. It shows when the probabilities add up to more than 1."""

    def change(self, answer: Body) -> None:
        for row in told(answer):
            for entry in [row, *row.get("top_logprobs", [])]:
                if isinstance(entry.get("logprob"), float):
                    entry["logprob"] /= math.log(10)

    def answer(self, answer: Body, exchange: Exchange) -> None:
        self.change(answer)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.change(piece)
        return True


@fault
class ChosenHasValueOfFirst(Answers):
    """The chosen token is reported with the logarithm of the most likely one. It shows when a token
    that is not the most likely is drawn."""

    def change(self, answer: Body, asked: Body) -> None:
        for row in told(answer):
            if row.get("top_logprobs"):
                row["logprob"] = row["top_logprobs"][0]["logprob"]


@fault
class SmallProbabilitiesAtFloor(Answers):
    """A logarithm below -9 becomes -9. It shows in n_probs 500: the last ones are equal."""

    def change(self, answer: Body, asked: Body) -> None:
        for row in told(answer):
            for entry in [row, *row.get("top_logprobs", [])]:
                if isinstance(entry.get("logprob"), float):
                    entry["logprob"] = max(entry["logprob"], -9.0)


@edit
def post_sampling_probs_ignored(body: Body) -> None:
    """Lose post_sampling_probs. It shows in the names of the answer's fields."""
    body.pop("post_sampling_probs", None)


@fault
class ChosenAppended(Answers):
    """A chosen token outside the list is put in front of it, so that the list has one entry more.
    It shows with n_probs 1 at a high temperature."""

    def change(self, answer: Body, asked: Body) -> None:
        for row in told(answer):
            top = row.get("top_logprobs")
            if top and row["id"] not in [entry["id"] for entry in top]:
                top.insert(0, {k: v for k, v in row.items() if k != "top_logprobs"})


@fault
class TextAsLatin1(Answers):
    """UTF-8 is read as Latin-1. It shows in a grammar of one accented letter."""

    def change(self, answer: Body, asked: Body) -> None:
        if isinstance(text := answer.get("content"), str):
            answer["content"] = text.encode().decode("latin-1")


# The reserve


@edit
def negative_penalty_loses_sign(body: Body) -> None:
    """Make negative presence and frequency penalties positive. It shows in -2: words repeat."""
    for name in ("presence_penalty", "frequency_penalty"):
        if (value := number(body, name)) is not None:
            body[name] = abs(value)


@edit
def four_stops_at_most(body: Body) -> None:
    """Stop strings after the fourth are lost. It shows with five, and the fifth comes first."""
    if isinstance(stops := body.get("stop"), list):
        body["stop"] = stops[:4]


@edit
def newline_in_stop_is_escaped(body: Body) -> None:
    """Send a line break in a stop string as backslash and n. It shows in a text of lines."""
    if isinstance(stops := body.get("stop"), list):
        body["stop"] = [s.replace("\n", "\\n") if isinstance(s, str) else s for s in stops]


@edit
def probabilities_narrow_top_k(body: Body) -> None:
    """Draw only from n_probs tokens. It shows when n_probs changes the text."""
    if wanted := number(body, "n_probs"):
        body["top_k"] = min(number(body, "top_k") or 40, wanted)


@fault
class GreedyIsCertain(Answers):
    """At temperature 0 the chosen token has probability 1. It shows at temperature 0."""

    def change(self, answer: Body, asked: Body) -> None:
        if asked.get("temperature") == 0:
            for row in told(answer):
                for entry in [row, *row.get("top_logprobs", [])]:
                    entry["logprob"] = 0.0 if entry["id"] == row["id"] else -100.0


@fault
class StopTypeIsEnd(Answers):
    """A text that reaches n_predict reports that it ended by itself. It shows in stop_type."""

    def change(self, answer: Body, asked: Body) -> None:
        if answer.get("stop_type") == "limit":
            answer["stop_type"] = "eos"


@edit
def top_k_at_most_hundred(body: Body) -> None:
    """Make top_k above 100 a 100. It shows at a high temperature with other filters off."""
    if (number(body, "top_k") or 0) > 100:
        body["top_k"] = 100


@fault
class RefusedParametersStay(Fault):
    """Parameters of a refused request are the defaults of the next one. It shows in a request
    without them."""

    PLAIN = ("prompt", "stream", "n_predict", "grammar", "seed", "json_schema")

    def __init__(self) -> None:
        self.left_over: Body = {}

    def ask(self, body: Body, exchange: Exchange) -> None:
        for name, value in self.left_over.items():
            body.setdefault(name, value)
        self.left_over = {}

    def refused(self, exchange: Exchange) -> None:
        numbers = {k: v for k, v in exchange.asked.items() if isinstance(v, int | float)}
        self.left_over = {k: v for k, v in numbers.items() if k not in self.PLAIN}


@fault
class StopOfLastStream(Fault):
    """Stop strings of a stream hold for the next request without any. It shows after a stream with
    a stop string."""

    last: Any = None

    def ask(self, body: Body, exchange: Exchange) -> None:
        if exchange.streamed:
            self.last = body.get("stop")
        elif self.last and not body.get("stop"):
            body["stop"], self.last = self.last, None


class CaughtError(Exception):
    """Carry the result that is not as required."""


def outcome(make: Callable[[], Fault], kinds: Sequence[str]) -> tuple[str, str, str]:
    """Return the first kind that caught a fault, or "escaped", and the line and evidence."""

    real = real_servers()["llama-server"]
    with started(real, model_path(GOLDEN)) as address, tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            with between(address, make()) as before:
                asked = check_of_started(real, before, 2)

                def stop(
                    result: ServerResult, broken: dict[str, Any] = asked.client.traffic.broken
                ) -> None:
                    if not result.met and result.verdict != "skipped":
                        raise CaughtError(result.id, f"{result.verdict}: {result.evidence}")
                    for name, (line, _) in broken.items():  # the last group reports them
                        raise CaughtError(f"state/every answer: {name}", line)

                try:
                    groups = groups_of_kind(kind, asked.groups)
                    run_checks(replace(asked, groups=groups), Path(folder) / kind, [], stop)
                except CaughtError as caught:
                    return kind, *caught.args
    return "escaped", "", ""


def groups_of_kind(kind: str, groups: tuple[CheckGroup, ...]) -> tuple[CheckGroup, ...]:
    """Return the groups of `server check`, those of the oracle, or the random requests alone."""
    plain = groups_of(False)
    predicted = groups[: -len(plain)]
    if kind == "random":
        return tuple(one for one in predicted if getattr(one, "func", None) is check_random)
    return plain if kind == "check" else predicted


def main() -> int:
    lists = {
        "again": blind_servers_again.FAULTS,
        "third": blind_servers_third.FAULTS,
        "fourth": blind_servers_fourth.FAULTS,
        "fifth": blind_servers_fifth.FAULTS,
        "sixth": blind_servers_sixth.FAULTS,
    }
    kinds = [*["random"] * ("random" in sys.argv), "check"]
    kinds += ["predicted"] * ("plain" not in sys.argv)
    names = [name for name in sys.argv[1:] if name not in (*lists, "plain", "random")]
    faults = next((lists[name] for name in lists if name in sys.argv), FAULTS)
    plan = [(name, faults[name]) for name in names or faults]
    if not names:
        plan = [("faithful", Fault), *plan, ("faithful", Fault)]
    for count, (name, make) in enumerate(plan):
        start = time.monotonic()
        kind, line, evidence = outcome(make, kinds)
        seconds = time.monotonic() - start
        print(f"{count:2} {name:38} {kind:9} {line:30} {seconds:4.0f} s  {evidence}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

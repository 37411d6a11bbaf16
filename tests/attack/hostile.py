"""Adapters that attack the harness:

`python -I -S hostile.py NAME`, with Python's library alone.

Each is examples/adapter.py and correct, except that it attacks when it is asked for a case with 129
tokens, or when it is greeted. The self-test runs others: maintenance/selftest/adapters.py.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

TRIGGER = 129
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/adapter.py"
SCRATCH: list[Path] = []
Reply = dict[str, Any]
Act = Callable[[Reply], object]  # of the right reply


class Attack(NamedTuple):
    """verdict: of the attacked case. starts: processes that three cases then take; 0: any.

    numbered: it claims to repeat numbers. hello: it attacks when greeted. hurried: the harness
    waits half a second for it. harms_later: the next case waits until the scratch file is harmed.
    """

    name: str
    does: str
    act: Act
    verdict: str = "crashed"
    starts: int = 2
    numbered: bool = False
    hello: bool = False
    hurried: bool = False
    harms_later: bool = False


def raw(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def say(reply: Any) -> None:
    raw(json.dumps(reply).encode() + b"\n")


def says(data: bytes) -> Act:
    """Return an act that sends these bytes and a line end instead of the reply."""
    return lambda _reply: raw(data + b"\n")


def with_(**changes: Any) -> Act:
    """Return an act that sends the right reply with keys changed or added."""
    return lambda reply: say(reply | changes)


def as_text(change: Callable[[str], str]) -> Act:
    """Return an act that changes the text of the right reply."""
    return lambda reply: raw(change(json.dumps(reply)).encode("utf-8", "surrogatepass") + b"\n")


def stages(**changes: Any) -> Act:
    """Return an act that changes keys of every stage."""
    return lambda reply: say(
        reply | {"stages": [[stage | changes for stage in step] for step in reply["stages"]]}
    )


def soon(act: Act, after_s: float) -> Act:
    """Return an act that runs `act` in a thread after `after_s` seconds."""
    return lambda reply: threading.Timer(after_s, act, [reply]).start()


def dies(number: int) -> Act:
    return lambda _: os.kill(os.getpid(), number)


def writes(offset: int, data: bytes) -> Act:
    """Return an act that writes bytes at this offset of the first stage, then sends the right
    reply.
    """

    def act(reply: Reply) -> None:
        with SCRATCH[0].open("r+b") as file:
            file.seek(reply["stages"][0][0]["at"] + offset)
            file.write(data)
        say(reply)

    return act


def cut(size: int) -> Act:
    return lambda _: os.truncate(SCRATCH[0], size)


def shorten(_reply: Reply) -> None:
    os.truncate(SCRATCH[0], SCRATCH[0].stat().st_size - 1)


def recreate(_reply: Reply) -> None:
    SCRATCH[0].unlink()
    SCRATCH[0].write_bytes(bytes(1 << 20))


def link(_reply: Reply) -> None:
    SCRATCH[0].unlink()
    SCRATCH[0].symlink_to("/dev/zero")


def folder(_reply: Reply) -> None:
    SCRATCH[0].unlink()
    SCRATCH[0].mkdir()


def fifo(_reply: Reply) -> None:
    SCRATCH[0].unlink()
    os.mkfifo(SCRATCH[0])


def away_and_back(_reply: Reply) -> None:
    SCRATCH[0].rename(f"{SCRATCH[0]}.away")
    Path(f"{SCRATCH[0]}.away").rename(SCRATCH[0])


def overwritten(_reply: Reply) -> None:
    with SCRATCH[0].open("r+b") as file:
        file.write(b"\xff" * 4 * TRIGGER)


def child(*options: str) -> Act:
    """Return an act that starts a program that outlives this one and has its pipes."""

    def act(_reply: Reply) -> None:
        subprocess.Popen([*options, "sleep", "600"])

    return act


def leave(_reply: Reply) -> None:
    os._exit(0)


def hang(_reply: Reply) -> None:
    time.sleep(600)


def exit_later(_reply: Reply) -> None:
    time.sleep(0.02)
    os._exit(3)


def times(number: int) -> Act:
    """Return an act that sends the reply `number` times, in one write: without numbers a
    reply that comes after the next request is taken for its reply."""
    return lambda reply: raw((json.dumps(reply).encode() + b"\n") * number)


def close(*pipes: int) -> Act:
    def act(_reply: Reply) -> None:
        for pipe in pipes:
            os.close(pipe)

    return act


def in_drops(pause_s: float) -> Act:
    def act(reply: Reply) -> None:
        for byte in json.dumps(reply).encode() + b"\n":
            raw(bytes([byte]))
            time.sleep(pause_s)

    return act


def shout(_reply: Reply) -> None:
    os.write(2, b"\xff\x1b[2J" * (1 << 18) + b"\nthe end\n")


def all_of(*acts: Act) -> Act:
    """Return an act that does these one after the other."""

    def act(reply: Reply) -> None:
        for each in acts:
            each(reply)

    return act


def again_later(reply: Reply) -> None:
    """Send a second reply, printed before the next request is answered."""
    say(reply)
    AT_NEXT.append(reply)


AT_NEXT: list[Reply] = []
HUGE = "1" + "0" * 400
REFUSES = {"ok": False, "kind": "rejected"}

LIST = [
    # ends, and others that end
    Attack("exits-0", "ends well, without a reply", leave),
    Attack("exits-after", "replies, and ends", all_of(say, leave)),
    Attack("exits-soon-after", "replies, ends later", all_of(say, exit_later)),
    Attack("aborts-after", "replies, and aborts", all_of(say, dies(signal.SIGABRT))),
    Attack("kills-itself", "is killed", dies(signal.SIGKILL)),
    Attack("bus-error", "ends by SIGBUS", dies(signal.SIGBUS)),
    Attack("stops", "is stopped", dies(signal.SIGSTOP), "timeout", hurried=True),
    Attack("stops-after", "replies, and is stopped", all_of(say, dies(signal.SIGSTOP)),
           hurried=True),
    Attack("hangs-after", "replies, and hangs", all_of(say, hang), hurried=True),
    Attack("closes-stdin", "replies, closes its stdin, hangs", all_of(say, close(0), hang),
           hurried=True),
    Attack("closes-all", "replies, closes all its pipes, hangs", all_of(say, close(0, 1, 2), hang)),
    Attack("forks-and-exits", "ends, its pipes held by a child", all_of(say, child(), leave),
           hurried=True),
    Attack("dies-before-a-child", "ends, its stdout held by a child", all_of(child(), leave)),
    Attack("leaves-a-child", "has a child that outlives it", all_of(child(), say), "identical", 1),
    Attack("leaves-a-daemon", "has one elsewhere", all_of(child("setsid"), say), "identical", 1),
    # what is no reply
    Attack("flood-of-words", "4 MB of words for tokens", says(b'{"tokens":[' + b'"a",' * 10**6)),
    Attack("words-for-tokens", "as many as fit", says(b'{"tokens":[' + b'"a",' * 60_000 + b"1]}")),
    Attack("flood-of-keys", "20,000 keys", as_text(lambda t: t[:-1] + "".join(
        f',"k{i}":1' for i in range(20_000)) + "}")),
    Attack("flood-of-lists", "lists in place of stages", says(b'{"stages":[' + b"[]," * 80_000)),
    Attack("flood-of-lines", "100,000 empty lines", says(b"\n" * 100_000)),
    Attack("many-replies", "a hundred replies", times(100)),
    Attack("deep-tokens", "tokens 50,000 lists deep", as_text(
        lambda t: t.replace('"tokens": [', '"tokens": [' + "[" * 50_000))),
    Attack("mark-of-order", "begins with a byte order mark", as_text(lambda t: "\ufeff" + t)),
    Attack("utf-16", "in UTF-16", lambda reply: raw(f"{json.dumps(reply)}\n".encode("utf-16"))),
    Attack("nul", "has a NUL within", as_text(lambda t: t.replace(":", ":\0", 1))),
    Attack("comment", "has a comment", as_text(lambda t: t + " // done")),
    Attack("quotes", "has single quotes", as_text(lambda t: t.replace('"', "'"))),
    Attack("half-a-pair", "has half a surrogate pair", with_(more="\ud800")),
    Attack("raw-half-a-pair", "the same in bytes", as_text(lambda t: t[:-1] + ',"a":"\ud800"}')),
    Attack("drips", "a byte at a time, too slowly", in_drops(0.05), "timeout", hurried=True),
    Attack("drops", "a byte at a time", in_drops(0), "identical", 1),
    Attack("carriage-return", "ends its line as on Windows", as_text(lambda t: t + "\r"),
           "identical", 1),
    Attack("spaces", "has spaces around", as_text(lambda t: f"  {t}  "), "identical", 1),
    Attack("twice-a-key", "has a key twice, the last right", as_text(
        lambda t: '{"tokens":["a"],' + t[1:]), "identical", 1),
    Attack("ok-is-1", "says 1 for true", with_(ok=1), "identical", 1),
    Attack("ok-is-no", "has a word for false", with_(ok="no")),
    Attack("tokens-null", "has null for tokens", with_(tokens=None)),
    Attack("tokens-object", "has an object for tokens", with_(tokens={"0": 1})),
    Attack("token-float", "has a fraction for a token", with_(tokens=[1.5, 1, 1])),
    Attack("token-true", "has true for a token", with_(tokens=[True, 1, 1]), "diverged", 1),
    Attack("stages-null", "has null for stages", with_(stages=None)),
    # numbers
    Attack("ns-of-401-digits", "took 10^400 ns", as_text(lambda t: t[:-1] + f',"ns":{HUGE}}}')),
    Attack("ns-of-5001-digits", "took 10^5000 ns", as_text(
        lambda t: t[:-1] + f',"ns":1{"0" * 5000}}}')),
    Attack("ns-nan", "took NaN ns", as_text(lambda t: t[:-1] + ',"ns":NaN}')),
    Attack("ns-float", "took 1e999 ns", as_text(lambda t: t[:-1] + ',"ns":1e999}')),
    Attack("at-true", "has true for a place", stages(at=True)),
    Attack("at-huge", "points to 10^17", stages(at=10**17)),
    Attack("n-huge", "has 10^17 candidates", stages(n=10**17)),
    Attack("n-one-more", "has a candidate more than there are tokens", stages(n=TRIGGER + 1)),
    Attack("n-none", "has no candidates", stages(n=0), "diverged", 1),
    Attack("selected-huge", "selects the 10^17th", stages(selected=10**17), "diverged", 1),
    Attack("selected-negative", "selects the -2nd", stages(selected=-2), "diverged", 1),
    Attack("sorted-word", "has a word for sorted", stages(sorted="yes please")),
    Attack("token-unknown", "a token beyond the vocabulary", with_(tokens=[10**9] * 3),
           "diverged", 1),
    Attack("token-negative", "a token below zero", with_(tokens=[-1] * 3), "diverged", 1),
    Attack("id-unknown", "a candidate beyond the vocabulary", writes(0, b"\xff\xff\xff\x7f"),
           "diverged", 1),
    Attack("id-negative", "a candidate below zero", writes(0, b"\xff\xff\xff\xff"), "diverged", 1),
    Attack("id-twice", "a candidate twice", writes(0, bytes(8)), "diverged", 1),
    Attack("logit-nan", "a logit that is no number", writes(4 * 40, b"\0\0\xc0\x7f"),
           "diverged", 1),
    # replies to other requests
    Attack("second-reply", "a second reply, when asked for more", again_later, numbered=True),
    Attack("number-missing", "no number", lambda reply: say(
        {key: value for key, value in reply.items() if key != "number"}), numbered=True),
    Attack("number-of-before", "the number of the greeting", with_(number=1), numbered=True),
    Attack("number-of-later", "a number of later", with_(number=10**6), numbered=True),
    Attack("number-as-text", "a number in quotes", with_(number="3"), numbered=True),
    Attack("number-true", "true for a number", with_(number=True), numbered=True),
    # the scratch file
    Attack("cuts-after", "cuts it 0.2 ms after its reply", all_of(say, soon(cut(0), 0.0002)),
           harms_later=True),
    Attack("cuts-a-byte", "makes it a byte shorter", all_of(shorten, say)),
    Attack("grows-it", "makes it 1 PiB long", all_of(cut(1 << 50), say)),
    Attack("recreates-it", "puts a file in its place", all_of(recreate, say)),
    Attack("links-it", "puts a link to /dev/zero in its place", all_of(link, say)),
    Attack("folder-for-it", "puts a folder in its place", all_of(folder, say)),
    Attack("pipe-for-it", "puts a named pipe in its place", all_of(fifo, say)),
    Attack("moves-it", "moves it away and back", all_of(away_and_back, say), "identical", 1),
    Attack("overwrites-rows", "overwrites the row that it was given", all_of(overwritten, say),
           "identical", 1),
    # refusals and stderr
    Attack("refuses-at-length", "refuses in 200 KB", with_(**REFUSES, message="x" * 200_000)),
    Attack("refuses-in-half-a-pair", "refuses with half a pair", lambda _: say(
        REFUSES | {"message": "\ud800"})),
    Attack("refuses-silently", "refuses without a message", lambda _: say(REFUSES)),
    Attack("refuses-in-escapes", "refuses with codes of a terminal", lambda _: say(
        REFUSES | {"message": "\x1b[2J::set-output name=x::y\n"}), "rejected", 1),
    Attack("shouts", "prints 1 MB of codes to stderr, and ends", all_of(shout, dies(9))),
    Attack("shouts-and-replies", "the same, and goes on", all_of(shout, say), "identical", 1),
    # greetings
    Attack("hello-half-a-pair", "has half a pair for a version", with_(version="\ud800"), starts=3,
           hello=True),
    Attack("hello-long", "has a version of 5,000 characters", with_(version="x" * 5000), starts=3,
           hello=True),
    Attack("hello-many-samplers", "has 100,000 samplers", with_(samplers=["x"] * 10**5), starts=3,
           hello=True),
    Attack("hello-samplers-text", "has a text for samplers", with_(samplers="top_k"), starts=3,
           hello=True),
    Attack("hello-capability", "claims what nobody knows", with_(capabilities=["run", "fly"]),
           starts=3, hello=True),
    # how often it starts depends on whether its second greeting is there at the first look
    Attack("hello-twice", "greets twice", times(2), starts=0,
           hello=True),
    Attack("hello-and-exits", "greets, and ends", all_of(say, leave), starts=0, hello=True),
    Attack("hello-refuses", "refuses to greet", lambda _: say(REFUSES | {"message": "no"}),
           "rejected", 3, hello=True),
    Attack("hello-protocol-text", "speaks protocol one", with_(protocol="1"), starts=3, hello=True),
    Attack("hello-escapes", "has codes of a terminal for a name", with_(name="\x1b[2J\n"),
           "identical", 1, hello=True),
]  # fmt: skip

ATTACKS = {attack.name: attack for attack in LIST}


def main() -> None:
    attack = ATTACKS[sys.argv[1]]
    example = runpy.run_path(str(EXAMPLE))
    for line in sys.stdin:
        ask = json.loads(line)
        while AT_NEXT:
            say(AT_NEXT.pop())
        if ask["do"] == "bye":
            return
        if ask["do"] == "hello":
            SCRATCH[:] = [Path(ask["scratch"])]
            scratch = SCRATCH[0].open("r+b", buffering=0)
            claims = ["run", *["numbers"] * attack.numbered]
            reply = {"ok": True, "name": "hostile", "version": "1", "capabilities": claims}
            reply["samplers"] = list(example["SAMPLERS"])
        else:
            reply = example["run"](scratch, ask)
        if "number" in ask:
            reply["number"] = ask["number"]
        hit = ask["do"] == "hello" if attack.hello else ask.get("n_vocab") == TRIGGER
        attack.act(reply) if hit else say(reply)


if __name__ == "__main__":
    main()

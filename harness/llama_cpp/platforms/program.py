"""The pipe to a program of worker.cpp: a command a line, candidates behind it as they lie in
memory. The program is elsewhere only in what compiled it: an emulator may stand before it."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.candidates import TOKEN_DATA

Tokenize = Callable[[bytes, bool], list[int]]


class SamplerRefused(Exception):  # noqa: N818 - an answer
    """llama.cpp refuses to make a sampler. The message is its own."""


class Program:
    """command: starts the program. tokenize: splits a text, for a program that has its vocabulary
    from us.

    If it dies, this process dies, too: a request gets no answer, and stderr has the program's
    output.
    """

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self.tokenize: Tokenize | None = None

    def ask(self, *words: object) -> list[str]:
        """Return the words of its answer behind `ok`. Raises SamplerRefused."""
        return self._exchange(words, b"")

    def apply(
        self, sampler: int, data: NDArray[Any], selected: int, in_order: bool
    ) -> tuple[NDArray[Any], int, bool]:
        """Return the candidates after the sampler, the selected one, and whether they are
        sorted."""
        words = ("apply", sampler, len(data), selected, int(in_order))
        n, now_selected, now_sorted = map(int, self._exchange(words, data.tobytes()))
        survivors = self._read(n * TOKEN_DATA.itemsize)
        return np.frombuffer(survivors, TOKEN_DATA), now_selected, bool(now_sorted)

    def draw(
        self, sampler: int, times: int, data: NDArray[Any], selected: int, in_order: bool
    ) -> NDArray[np.int32]:
        """Return tokens that a sampler selects from the same candidates, one after the other."""
        words = ("draw", sampler, times, len(data), selected, int(in_order))
        (n,) = map(int, self._exchange(words, data.tobytes()))
        return np.frombuffer(self._read(4 * n), np.int32)

    def close(self) -> None:
        self._to.close()
        self._process.wait()
        self._from.close()

    @property
    def closed(self) -> bool:
        return self._from.closed

    def _exchange(self, words: Iterable[object], payload: bytes) -> list[str]:
        self._send(" ".join(map(str, words)).encode() + b"\n" + payload)
        while True:
            state, *answer = self._line().split(" ")
            if state == "ok":
                return answer
            if state == "refused":
                raise SamplerRefused(" ".join(answer))
            if state != "tokenize" or self.tokenize is None:
                raise SystemExit(f"not an answer of the worker: {state!r:.80}")
            special, text = answer
            tokens = self.tokenize(bytes.fromhex(text[1:]), special == "1")
            self._send(" ".join(map(str, tokens)).encode() + b"\n")

    def _send(self, line: bytes) -> None:
        try:
            self._to.write(line)
            self._to.flush()
        except BrokenPipeError:
            self._died()

    def _read(self, size: int) -> bytes:
        read = self._from.read(size)
        if len(read) != size:
            self._died()
        return read

    def _line(self) -> str:
        line = self._from.readline()
        if not line.endswith(b"\n"):
            self._died()
        return line.decode(errors="replace").strip()

    def _died(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.close()
        self._from.close()
        raise SystemExit(f"the program ended with status {self._process.wait()}")


def encoded(value: object) -> str:
    """Encode a value for words.hpp."""
    if value is None:
        return "-"
    if isinstance(value, bytes):
        return f"x{value.hex()}"
    if isinstance(value, np.float32):
        return f"{int(value.view(np.uint32)):08x}"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, list | tuple):
        return " ".join([str(len(value)), *map(encoded, value)])
    raise InputError(repr(value), "cannot be an argument of a sampler")

"""Chains and their steps, as an engine's recorder.py writes them into a recording.

It runs inside the recorded program and needs numpy alone.
"""

import base64
import itertools
import json
import os
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.programs.recording.writer import RecordingWriter

Stage = tuple[str | None, str, dict[str, Any]]  # our name or None, the engine's name, arguments
Row = NDArray[np.float32]


class Hooks:
    """The recorder of this process. An exception in it stops it, never the program."""

    def __init__(self, settings: Mapping[str, str], name: str, engine: str) -> None:
        self.folder, self.engine = Path(settings[name]), engine
        self.detail: Any = settings.get(f"{name}_DETAIL", "survivors")
        self.text = settings.get(f"{name}_TEXT", "1") == "1"
        self.version, self.stopped = "", False
        self.tokenizer: Any = None
        self._start()

    def _start(self) -> None:
        program = " ".join(sys.orig_argv)
        self.writer = RecordingWriter(self.folder, program, self.detail, self.text)
        self.writer.event({"e": "engine", "name": self.engine, "version": self.version})
        self.addresses = itertools.count(1)
        self.models: dict[tuple[int, int], str] = {}
        Finalize(None, self._end, exitpriority=0)  # at the exit, also of a multiprocessing child

    def _end(self) -> None:
        self.safely(lambda: self.writer.event({"e": "end", "applies": self.writer.applies}))

    def address(self) -> str:
        return hex(next(self.addresses))

    def named(self, version: str) -> None:
        """Record the engine's version."""
        self.version = version
        self.writer.event({"e": "engine", "name": self.engine, "version": version})

    def safely(self, do: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the recorder. An exception in it ends the recording."""
        if self.stopped:
            return None
        try:
            if self.writer.pid != os.getpid():  # a fork: its parent goes on with the old files
                self._start()
            if (self.folder / "stop").exists():
                raise RuntimeError("the limit on disk is reached")
            return do(*arguments)
        except Exception as error:
            self.stopped = True
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            try:
                self.writer.event({"e": "stopped", "why": why})
            except Exception:
                return None

    def chain(self, stages: Sequence[Stage], prompt: Sequence[int], n_vocab: int) -> "HookedChain":
        """Begin a chain: one for each sequence."""
        return HookedChain(self, stages, [int(token) for token in prompt], n_vocab)

    def context(self, n_vocab: int) -> str:
        """Return the context of a vocabulary; write it where it is new."""
        tokenizer = self.tokenizer if self.text else None
        key = (n_vocab, id(tokenizer))
        if key not in self.models:
            model, context = self.address(), self.address()
            pieces = [] if tokenizer is None else pieces_of(tokenizer, n_vocab)
            event = {"e": "model", "m": model, "n_vocab": n_vocab}
            if pieces:
                digest = zlib.crc32(b"".join(piece + b"\0" for piece in pieces))
                file = f"{self.writer.name}.model-{len(self.models) + 1}.json"
                (self.folder / file).write_text(vocabulary(pieces, tokenizer), encoding="utf-8")
                event |= {"file": file, "digest": f"{digest:08x}"}
            self.writer.event(event)
            self.writer.event({"e": "context", "ctx": context, "m": model})
            self.models[key] = context
        return self.models[key]


class HookedChain:
    """The stages of one sequence, from its prompt to its end."""

    def __init__(self, hooks: Hooks, stages: Sequence[Stage], prompt: list[int], n_vocab: int):
        self.hooks, self.writer = hooks, hooks.writer
        self.context = hooks.context(n_vocab)
        event = self.writer.event
        self.chain, self.stages = hooks.address(), [hooks.address() for _ in stages]
        self.unknown = [sampler is None for sampler, _, _ in stages]
        event({"e": "chain", "s": self.chain})
        for address, (sampler, name, arguments) in zip(self.stages, stages, strict=True):
            given = {"n_vocab": n_vocab, **_plain(arguments)}
            event({"e": "init", "s": address, "sampler": sampler, "name": name, "args": given})
            event({"e": "add", "c": self.chain, "s": address, "name": name})
        event({"e": "prompt", "s": self.chain, "tokens": prompt})

    def seed(self, stage: int, seed: int) -> None:
        """Record the seed, or the state, that a stage draws with next."""
        self.writer.event({"e": "seed", "s": self.stages[stage], "seed": seed})

    def apply(self, before: Row, after: Sequence[Row], token: int, selects: int = -1) -> None:
        """Write a step. before: the logits; after: what each stage left of them, -inf where it
        removed a token. token: the sampled one. selects: the first stage that selects it."""
        first = selects % len(self.stages)
        whole = self.writer.array(np.arange(len(before)), before, first=True)
        stages = []
        for i, (address, row) in enumerate(zip(self.stages, after, strict=True)):
            ids = np.flatnonzero(row != -np.inf)
            at = int(np.searchsorted(ids, token)) if i >= first else -1
            there = 0 <= at < len(ids) and ids[at] == token
            followed = self.unknown[i] and i + 1 < len(after)  # what comes next begins with it
            array = self.writer.array(
                ids, row[ids], sorted=None, selected=at if there else -1, listed=followed
            )
            stages.append({"s": address, **array})
        left = {key: value for key, value in stages[-1].items() if key != "s"}
        event = {"e": "apply", "q": self.writer.applies, "s": self.chain, "ctx": self.context}
        p = probability(after[-1], token)
        self.writer.event(event | {"before": whole, "stages": stages, "after": left,
                                   "token": token, "p": p})  # fmt: skip
        self.writer.applies += 1

    def accept(self, token: int) -> None:
        self.writer.event({"e": "accept", "s": self.chain, "token": int(token)})

    def end(self) -> None:
        for address in (*self.stages, self.chain):
            self.writer.event({"e": "free", "s": address})


def _plain(value: Any) -> Any:
    """Return arguments as JSON can hold them: infinity is a word."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def probability(logits: Row, token: int) -> float:
    """Return the p of a token of a row; 0 where it is not a number."""
    with np.errstate(all="ignore"):
        weights = np.exp(logits.astype(np.float64) - np.nanmax(logits))
        p = float(weights[token] / weights.sum()) if 0 <= token < len(logits) else 0.0
    return p if np.isfinite(p) else 0.0


def pieces_of(tokenizer: Any, n_vocab: int) -> list[bytes]:
    """Return the bytes of each token, of a tokenizer of Hugging Face's."""
    texts = tokenizer.convert_ids_to_tokens(list(range(min(len(tokenizer), n_vocab))))
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]  # GPT-2's bytes_to_unicode
    others = [byte for byte in range(256) if byte not in printed]
    byte_of = {chr(b): b for b in printed} | {chr(256 + i): b for i, b in enumerate(others)}
    by_bytes = any("\u0120" in (text or "") for text in texts)  # its space
    pieces = []
    for text in (text or "" for text in texts):
        if by_bytes and all(char in byte_of for char in text):
            pieces.append(bytes(byte_of[char] for char in text))
        elif len(text) == 6 and text.startswith("<0x"):
            pieces.append(bytes([int(text[3:5], 16)]))
        else:
            pieces.append(text.replace("\u2581", " ").encode())
    return pieces + [b""] * (n_vocab - len(pieces))


def vocabulary(pieces: list[bytes], tokenizer: Any) -> str:
    """Return the file of a vocabulary, as native/models.cpp writes it."""
    n, end = len(pieces), getattr(tokenizer, "eos_token_id", None)
    eos = end if isinstance(end, int) else -1
    about = {"kind": "none", "eog": [eos] if eos >= 0 else [], "eos": eos, "eot": -1}
    coded = [base64.b64encode(piece).decode() for piece in pieces]
    lists = {"texts": [None] * n, "types": [1] * n, "scores": [0.0] * n, "pieces": coded}
    return json.dumps(about | lists)

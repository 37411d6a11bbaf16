"""Runs of a small model, computed by the reference and written as recordings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.programs.recording import events as e
from tests.programs.recording.small_program import CHAIN, Program, Stages

N, CONTEXT = 64, "0x7"
PIECES = [f" {i}".encode() for i in range(N)]
PENALTIES = {"penalty_last_n": 64, "penalty_repeat": 1.3, "penalty_freq": 0, "penalty_present": 0.5}
STAGES: Stages = [
    {"penalties": PENALTIES},
    {"top_k": {"k": 40}},
    {"top_p": {"p": 0.95, "min_keep": 1}},
    {"temp": {"temp": 0.8}},
    {"dist": {"seed": 7}},
]


@dataclass
class Run:
    """A run. change: parameters of stages; secret: those that are not recorded. rename: stages, in
    the recording. before: by step, a method of Writing and its arguments. shift: of one logit after
    five tokens."""

    chain: Stages = field(default_factory=lambda: STAGES)
    change: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    secret: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    noise: float = 0.0
    scale: float = 1.0
    shift: float = 0.0
    prompt: tuple[int, ...] = (1, 2, 3)
    takes_prompt: bool = True
    before: Mapping[str, list[Any]] = field(default_factory=dict)
    steps: int = 40
    build: int = 0
    detail: str = "survivors"

    def logits(self, tokens: list[int]) -> Any:
        """Return the logits after a text: float32[N]."""
        seed = [len(tokens), *tokens[-3:]]
        row = np.random.default_rng(seed).normal(0, 1.5, N).astype(np.float32)
        row += np.random.default_rng(len(tokens)).normal(0, self.noise, N).astype(np.float32)
        row[28] += np.float32(self.shift) if len(tokens) == 5 else 0
        return row * np.float32(self.scale)

    def record(self, folder: Path) -> None:
        """Write it into a new folder."""
        folder.mkdir(parents=True)
        writing = Writing(folder, self)
        for step in range(self.steps):
            for method, *arguments in [self.before[str(step)]] if str(step) in self.before else []:
                getattr(writing, method)(*arguments)
            writing.sample()


def changed(stages: Stages, by: Mapping[str, Mapping[str, Any]]) -> Stages:
    return [{n: {**of, **by.get(n, {})} for n, of in stage.items()} for stage in stages]


class Writing:
    """A run that is being written. tokens: those that the model has read, and the newest one."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.run, self.tokens, self.read = run, [*run.prompt], 0
        stages = changed(run.chain, run.change)
        named = [{run.rename.get(name, name): of} for stage in stages for name, of in stage.items()]
        self.program = Program(folder, run.detail, True, PIECES, named)
        self.event, self.program.ctx = self.program.writer.event, CONTEXT
        if run.build:
            self.event(e.Library(path="libllama.so", build=run.build))
        release = f"b{run.build}" if run.build else None
        chain = build_chain(changed(stages, run.secret), n_vocab=N, release=release)
        self.samplers: list[Any] = [*chain.samplers]
        for token in run.prompt if run.takes_prompt else ():
            self.accept(token)

    def sample(self, is_taken: bool = True) -> None:
        """Decode what is new, and sample a token; accept it if it is taken."""
        new, pos = self.tokens[self.read :], [*range(self.read, len(self.tokens))]
        if new:
            self.event(e.Decode(ctx=CONTEXT, tokens=new, pos=pos, out=[len(new) - 1]))
        self.read = len(self.tokens)
        token = self.program.draw(self.samplers, self.run.logits(self.tokens))
        if is_taken:
            self.accept(token)
            self.tokens.append(token)

    def accept(self, token: int) -> None:
        self.event(e.Accept(s=CHAIN, token=token))
        for sampler in self.samplers:
            sampler.accept(token)

    def reset(self, address: str, first: int, last: int) -> None:
        """Reset the chain, or a stage: those from first to last."""
        self.event(e.Reset(s=address))
        for sampler in self.samplers[first : last + 1]:
            sampler.reset()

    def draw_seed(self, seed: int) -> None:
        """Let the last stage draw its seed."""
        self.event(e.DrawnSeed(s=f"0x{len(self.samplers) + 1}", seed=seed))
        self.samplers[-1].rng.seed(seed)

"""vLLM: which of equal tokens top-p keeps, what a small temperature becomes, which seeds are one.

    sampler-parity engines exec vllm -- python studies/findings/finding_53_ties.py

Packages that vLLM imports and its sampler never calls need not be there: modules of empty classes
stand for them.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import types
from typing import Any

MODELS_AND_SERVERS = [
    "PIL",
    "aiohttp",
    "cbor2",
    "fastapi",
    "huggingface_hub",
    "llguidance",
    "openai",
    "openai_harmony",
    "partial_json_parser",
    "prometheus_client",
    "pybase64",
    "requests",
    "safetensors",
    "tokenizers",
    "transformers",
    "uvloop",
    "xgrammar",
    "yaml",
    "zmq",
]


class Empty(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Empty(name, (), {})

    def __or__(cls, _other: object) -> "Empty":
        return cls

    def __ror__(cls, _other: object) -> "Empty":
        return cls

    def __getitem__(cls, _item: object) -> "Empty":
        return cls

    def __call__(cls, *of: Any, **_named: Any) -> Any:
        return of[0] if len(of) == 1 and callable(of[0]) else super().__call__()

    def __get_pydantic_core_schema__(cls, *_of: object) -> dict[str, str]:
        return {"type": "any"}


class Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Empty(name, (), {}))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] in MODELS_AND_SERVERS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        return Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def told(what: str, expected: object, got: object, met: bool) -> bool:
    print(f"{what}\n  expected {expected}\n  got      {got}")
    return met


def main() -> int:
    sys.meta_path.insert(0, Finder())
    os.environ["VLLM_LOGGING_LEVEL"] = "ERROR"
    import torch
    from vllm import SamplingParams  # type: ignore[import-not-found]
    from vllm.v1.sample.ops import topk_topp_sampler as ops  # type: ignore[import-not-found]

    met = []
    for n in (16, 20):
        left = ops.apply_top_k_top_p(torch.zeros(1, n), None, torch.tensor([0.5]))[0]
        ids = (left == 0).nonzero()[:, 0].tolist()
        last = list(range(n // 2, n))
        met.append(told(f"top_p 0.5 of {n} equal tokens", last, ids, ids == last))
    small = SamplingParams(temperature=1e-6).temperature
    met.append(told("temperature 1e-6: greedy", 0.0, small, small == 0))
    biased = SamplingParams.from_optional(logit_bias={3: -torch.inf})
    bias = biased.logit_bias
    met.append(told("logit_bias -inf of token 3", {3: "-inf"}, bias, bias == {3: -torch.inf}))
    words = []
    for seed in (1, 2**32 + 1):
        generator = torch.Generator().manual_seed(SamplingParams(seed=seed).seed)
        words.append(int(torch.randint(0, 2**31, (1,), generator=generator)))
    told_apart = len(set(words)) == 2
    met.append(told("seeds 1 and 4294967297: first numbers", "two", words, told_apart))
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())

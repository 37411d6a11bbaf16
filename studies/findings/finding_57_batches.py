"""SGLang: what a seed draws beside a neighbour, what min-p does to it, what it needs to be heeded.

    sampler-parity engines exec sglang -- python studies/findings/finding_57_batches.py

Packages that SGLang imports and its sampler never calls need not be there: modules of empty classes
stand for them. Its compiled hash is in no package: numbers of torch stand for it, which are as good
for what is shown here.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from functools import cache
from typing import Any

ABSENT = ["IPython", "PIL", "dill", "orjson", "pybase64", "requests", "starlette", "zmq"]
ABSENT += ["triton", "sgl_kernel", "sglang.srt.managers", "sglang.srt.constrained"]
LAYERS = "sglang.srt.layers"
ABSENT += [f"{LAYERS}.{of}" for of in ("dp_attention", "logits_processor", "logprob_processor")]


class Empty(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Empty(name, (), {})

    def __or__(cls, _other: object) -> "Empty":
        return cls

    __ror__ = __getitem__ = __or__

    def __call__(cls, *of: Any, **_named: Any) -> Any:
        return of[0] if len(of) == 1 and callable(of[0]) else super().__call__()


class Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Empty(name, (), {}))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if any(f"{name}.".startswith(f"{absent}.") for absent in ABSENT):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        return Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


@cache
def sampler_and_batch() -> tuple[Any, Any]:
    sys.meta_path.insert(0, Finder())
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    package: Any = types.ModuleType("sglang")
    spec: Any = importlib.util.find_spec("sglang")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["sglang"] = package
    import triton  # type: ignore[import-untyped,import-not-found,unused-ignore]

    triton.jit = lambda of=None, **_named: of or (lambda function: function)
    sampler: Any = importlib.import_module("sglang.srt.layers.sampler")
    batch: Any = importlib.import_module("sglang.srt.sampling.sampling_batch_info")
    return sampler, batch


def hashed(seed: Any, positions: Any, columns: Any) -> Any:
    import torch

    rows = [[int(one), int(at)] for one, at in zip(seed.to(torch.int64), positions, strict=True)]
    numbers = [torch.Generator().manual_seed(one * 1000 + at) for one, at in rows]
    return torch.stack([torch.randint(2**32, (len(columns),), generator=of) for of in numbers])


class Requests:
    """A batch of requests with these parameters."""

    def __init__(self, params: list[Any]) -> None:
        self.device = "cpu"
        self.reqs = [
            types.SimpleNamespace(
                sampling_params=of,
                return_sampling_mask=False,
                sampling_logprobs_mode=None,
                custom_logit_processor=None,
            )
            for of in params
        ]


class Engine:
    """SGLang's sampler, started with or without --enable-deterministic-inference."""

    def __init__(self, deterministic: bool) -> None:
        import torch

        sampler, batch = sampler_and_batch()
        params: Any = importlib.import_module("sglang.srt.sampling.sampling_params")
        config = types.SimpleNamespace(
            deterministic=types.SimpleNamespace(enable_deterministic_inference=deterministic),
            kernel=types.SimpleNamespace(sampling_backend="pytorch"),
            features=types.SimpleNamespace(
                enable_custom_logit_processor=False, enable_watermark=False
            ),
        )
        sampler.get_exec = batch.get_exec = lambda: config
        sampler.murmur_hash32 = hashed
        self.Params, self.Info = params.SamplingParams, batch.SamplingBatchInfo
        self.sampler = sampler.Sampler.__new__(sampler.Sampler)
        torch.nn.Module.__init__(self.sampler)
        self.sampler.rl_on_policy_target = None
        self.sampler.enable_deterministic = deterministic
        self.sampler.use_log_softmax_logprob = self.sampler.use_ascend_backend = False

    def tokens(self, params: list[dict[str, Any]], position: int) -> Any:
        import torch

        requests = Requests([self.Params(**of) for of in params])
        info = self.Info.from_schedule_batch(requests, 32)
        logits = torch.linspace(0, 1, 32).repeat(len(params), 1)
        output = types.SimpleNamespace(next_token_logits=logits)
        positions = torch.full((len(params),), position)
        return self.sampler(output, info, False, [], [], positions).tolist()


def told(what: str, expected: object, got: object, met: bool) -> bool:
    print(f"{what}\n  expected {expected}\n  got      {got}")
    return met


def main() -> int:
    engine = Engine(True)
    seeded = {"sampling_seed": 7}
    alone = [engine.tokens([seeded], at)[0] for at in range(8)]
    beside = [engine.tokens([seeded, {"temperature": 0.0}], at)[0] for at in range(8)]
    what = "tokens of seed 7, deterministic inference; beside a greedy request"
    met = [told(what, alone, beside, alone == beside)]
    try:
        got: object = engine.tokens([seeded, {"sampling_seed": 8, "min_p": 0.1}], 0)
    except AssertionError as error:
        got = f"AssertionError: {error}"
    failed = isinstance(got, str)
    met.append(told("a batch in which one request has min_p 0.1", "two tokens", got, not failed))
    plain = Engine(False)
    drawn = {tuple(plain.tokens([seeded], at)[0] for at in range(8)) for _ in range(4)}
    what = "seed 7 four times, without the server's option"
    met.append(told(what, "one text", f"{len(drawn)} texts", len(drawn) == 1))
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())

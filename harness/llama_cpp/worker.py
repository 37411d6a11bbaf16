"""llama.cpp's native samplers, applied stage by stage and as one chain, through libllama."""

import ctypes
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.llama_cpp.build_files import compiler_of
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.chain import NativeChain, chain_type
from sampler_parity.harness.llama_cpp.decode import (
    Model,
    capture,
    decode,
    generate,
    measure,
    tokenize,
)
from sampler_parity.harness.llama_cpp.ends import bans_of_ends
from sampler_parity.harness.llama_cpp.libllama import Libllama, default_folder, words_of
from sampler_parity.harness.llama_cpp.recorded import unchanged
from sampler_parity.harness.llama_cpp.sequences import follow
from sampler_parity.harness.llama_cpp.signatures import LAZY_BY_WORDS, SIGNATURES, LlamaLogitBias
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.environment import lift_memory_limit
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.reference.chronology import NEWEST


class Worker:
    """folder: a libllama build, default the installed llama-cpp-python. release: of the build; ""
    for the one that the library reports. device: what decodes; "" leaves that to ggml. registered:
    the name of a registered build. Its libraries are loaded only if they match the record."""

    def __init__(
        self, folder: str = "", release: str = "", device: str = "", registered: str = ""
    ) -> None:
        if registered:
            unchanged(registered)
        path = Path(folder) if folder else default_folder()
        self.library = Libllama(path, release or ("" if folder else NEWEST), device)
        self._version = release or f"{self.library.release}, as the library reports"
        if not folder:
            self._version = "v0.5.0 (llama-cpp-python 0.3.36)"
        self._vocab_models: dict[str, int] = {}
        self._model: Model | None = None

    def hello(self) -> p.HelloReply:
        path = self.library.path
        why_not = self._why_not()
        return p.HelloReply(
            name="llama.cpp",
            version=self._version,
            build=", ".join(filter(None, [path.name, compiler_of(path)])),
            device=self._device(),
            capabilities=["run", "draws", "time", "whole_chain", *self._decodes()],
            samplers=[
                *sorted(s for s in SIGNATURES if self.library.has(s) and s not in why_not),
                *(["ignore_eos"] if self.library.release == NEWEST else []),
            ],
            uncallable=why_not,
            arithmetic=Arithmetic(summation="sequential"),
        )

    def _device(self) -> str:
        """Describe the loaded devices, and the target of the CPU's code."""
        devices = self.library.devices.describe()
        return f"{devices} | {self.library.llama_print_system_info().decode()}"

    def _decodes(self) -> list[Literal["decode", "generate", "throughput", "sequences", "capture"]]:
        if not self.library.decodes:
            return []
        return ["decode", "generate", "throughput", "sequences", "capture"]

    def _why_not(self) -> dict[str, str]:
        """Return the samplers of the build whose signature is not known, each with the reason."""
        reasons = {}
        for sampler in filter(self.library.has, SIGNATURES):
            try:
                self.library.initializer(sampler)
            except Unsupported as unknown:
                reasons[sampler] = str(unknown)
        return reasons

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> NativeChain:
        library = self.library
        stages = [self._init(stage, n_vocab, vocab) for stage in chain]
        native = library.llama_sampler_chain_init(library.llama_sampler_chain_default_params())
        for stage in chain:
            library.llama_sampler_chain_add(native, self._init(stage, n_vocab, vocab))
        return chain_type()(library, stages, native)

    def _init(self, stage: dict[str, dict[str, Any]], n_vocab: int, vocab: str | None) -> int:
        if "ignore_eos" in stage:
            if not vocab:
                raise InputError("ignore_eos", "needs a vocabulary")
            stage = bans_of_ends(self.library, self._vocab(vocab))
        ((name, parameters),) = stage.items()
        by_words = LAZY_BY_WORDS if parameters.get("trigger_words") else None
        taken, initialize = self.library.initializer(name, by_words)
        values = _FIXED | {"n_vocab": n_vocab} | parameters | _arrays(parameters)
        if "vocab" in taken.arguments:
            values["vocab"] = self._vocab(vocab) if vocab else None
        if "model" in taken.arguments:
            values["model"] = self._vocab_model(vocab or str(vocab_path("spm")), with_weights=True)
        arguments = [values[argument] for argument in taken.arguments]
        sampler = initialize(*arguments)
        if not sampler:
            words = words_of(lambda: initialize(*arguments))
            raise InputError(name, f"llama.cpp refuses its parameters: {words}")
        return int(sampler)

    def _vocab(self, path: str) -> int:
        return int(self.library.llama_model_get_vocab(self._vocab_model(path)))

    def _vocab_model(self, path: str, with_weights: bool = False) -> int:
        """Load a model for its vocabulary. with_weights: without them llama.cpp does not
        read the context size, which `dry` may take from the model."""
        if path not in self._vocab_models:
            self._vocab_models[path] = self.library.load_model(
                Path(path), vocab_only=not with_weights
            )
        return self._vocab_models[path]

    def decode(self, request: p.DecodeRequest, rows: NDArray[np.float32]) -> None:
        model = self._load(request.model)
        model.check(request.n_vocab, request.tokens)
        decode(model, request, rows)

    def tokenize(self, request: p.TokenizeRequest) -> p.TokenizeReply:
        lift_memory_limit()  # a model of the user's own may take more than half of the memory
        return tokenize(self._load(request.model), request)

    def capture(self, request: p.CaptureRequest, rows: NDArray[np.float32]) -> None:
        capture(self._load(request.model), request, rows)

    def generate(self, request: p.GenerateRequest, rows: NDArray[np.float32]) -> p.GenerateReply:
        model = self.model(request)
        chain = self.build(request.chain, request.n_vocab, request.model)
        return generate(model, chain, request, rows)

    def throughput(self, request: p.ThroughputRequest) -> p.ThroughputReply:
        model = self.model(request)
        return measure(model, self.chains(request), request, in_graph=False)

    def chains(self, request: p.ThroughputRequest) -> list[NativeChain]:
        """Build a chain for each sequence of a request."""
        chain = (request.chain, request.n_vocab, request.model)
        return [self.build(*chain) for _ in range(request.sequences)]

    def sequences(
        self, request: p.SequencesRequest, rows: NDArray[np.float32]
    ) -> tuple[p.SequencesReply, list[Result]]:
        return follow(self, request, rows)

    def model_of_sequences(self, request: p.SequencesRequest) -> Model:
        """Return the model of a request, checked against it. Raises InputError, Unsupported."""
        model = self._load(request.model)
        for text in request.texts:
            further = max(0, len(request.steps) - len(text.forced))
            model.check(request.n_vocab, text.prompt + text.forced, further)
        return model

    def model(self, request: p.GenerateRequest | p.ThroughputRequest) -> Model:
        """Return the model of a request, checked against it. Raises InputError, Unsupported."""
        model = self._load(request.model)
        model.check(request.n_vocab, request.prompt, request.n_tokens)
        return model

    def _load(self, file: str) -> Model:
        if not self._decodes():
            raise Unsupported(f"cannot decode with release {self.library.release}")
        path = Path(file)
        if self._model is None or self._model.path != path:
            self._model = None  # so that two models are never in memory
            self._model = Model(self.library, path)
        return self._model

    def candidates(self, logits: NDArray[np.float32]) -> NativeCandidates:
        return NativeCandidates(logits)

    def result(self, candidates: NativeCandidates) -> tuple[Any, Any, Any, bool | None, int]:
        return candidates.result()


# Parameters of old releases alone: no token is treated as end or as a line feed, and -1 as the
# length of a history means this context.
_FIXED: dict[str, Any] = {
    "special_eos_id": -1,
    "linefeed_id": -1,
    "penalize_nl": True,
    "ignore_eos": False,
    "n_ctx_train": 4096,
}


def _arrays(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that C takes as an array and its length."""
    arrays: dict[str, Any] = {}
    if "seq_breakers" in parameters:
        breakers = parameters["seq_breakers"]
        if not all(isinstance(breaker, str | None) for breaker in breakers):
            raise Unsupported("llama.cpp's C interface takes DRY sequence breakers as strings only")
        strings = (ctypes.c_char_p * len(breakers))(
            *(None if b is None else b.encode() for b in breakers)
        )
        arrays |= {"seq_breakers": strings, "num_breakers": len(breakers)}
    if "logit_bias" in parameters:
        pairs = [LlamaLogitBias(token, bias) for token, bias in parameters["logit_bias"]]
        arrays |= {"logit_bias": (LlamaLogitBias * len(pairs))(*pairs), "n_logit_bias": len(pairs)}
    for text in ("grammar_str", "grammar_root"):
        if text in parameters:
            arrays[text] = parameters[text].encode()
    for texts in ("trigger_patterns", "trigger_words"):
        if texts in parameters:
            encoded = [text.encode() for text in parameters[texts]]
            strings = (ctypes.c_char_p * len(encoded))(*encoded)
            arrays |= {texts: strings, f"num_{texts}": len(encoded)}
    if "trigger_tokens" in parameters:
        tokens = parameters["trigger_tokens"]
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        arrays |= {"trigger_tokens": array, "num_trigger_tokens": len(tokens)}
    return arrays

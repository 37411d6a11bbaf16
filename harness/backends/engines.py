"""Every engine, one row each: the only list of them.

Who runs a backend by name, lists them, checks them (`make engines`), explains their differences or
sets them beside each other in a report reads the row. CONTRIBUTING.md says how one is added.
"""

import sys
from dataclasses import dataclass, field

from sampler_parity.harness.verdicts import Verdict

_PACKAGE = "sampler_parity.harness.backends"


@dataclass(frozen=True)
class Engine:
    """An engine under its name in `-b`.

    module: below harness/backends, with a class `Worker`; or command: a program of its own, its
    second word a file below harness/backends. needs: what must be installed. device: what it is
    bound to. builds: it takes BUILD or BUILD:DEVICE behind an @. environment: its row in
    environments.py, if it has one: a version may stand behind an @, and "{environment}" in the
    command is its folder. suites: those that it is checked with beside the reference, "properties"
    among them; draws: those that the reference need not repeat. in_make_engines: `make engines`
    runs both. grammars: the verdicts that pass in [[grammar]] blocks. page: of docs/,
    what it means; one with an environment has its own.
    """

    name: str
    what: str
    suites: tuple[str, ...]
    module: str = ""
    command: tuple[str, ...] = ()
    needs: str = ""
    device: str = ""
    builds: bool = False
    draws: tuple[str, ...] = ()
    in_make_engines: bool = False
    environment: str = ""
    grammars: list[Verdict] = field(default_factory=list)
    page: str = ""

    @property
    def documented(self) -> str:
        """The page in docs/ of what it means, or ""."""
        own = f"docs/engines/{self.name}.md" if self.environment else ""
        return self.page or own


_ROWS = (
    Engine(
        "llama.cpp",
        "the native chain of the installed llama-cpp-python",
        module="llama_cpp.worker",
        builds=True,
        suites=("parity", "properties", "grammar", "generate", "distribution"),
    ),
    Engine(
        "llama.cpp/graph",
        "the same samplers in the model's graph, on its device",
        module="llama_cpp.graph",
        builds=True,
        suites=("graph", "generate"),
    ),
    Engine(
        "token_trie",
        "the native chain with the token trie in it",
        module="llama_cpp.token_trie",
        builds=True,
        suites=("trie",),
    ),
    Engine(
        "token_trie/compiled",
        "the same trie in C++, compiled on the spot",
        module="llama_cpp.compiled_trie",
        needs="a C++ compiler",
        suites=("trie",),
    ),
    Engine(
        "reference",
        "the reference in a process of its own",
        module="reference",
        suites=("parity", "properties", "distribution", "origin"),
    ),
    Engine(
        "akunu/cpu",
        "Akunu's CPU pipeline",
        module="akunu.cpu",
        suites=("akunu/akunu", "properties"),
        draws=("draws/akunu",),
        in_make_engines=True,
        page="docs/akunu.md",
    ),
    Engine(
        "akunu/gumbel",
        "Akunu's Gumbel-max path, float16 noise as on the GPU and float32",
        module="akunu.gumbel",
        suites=("akunu/akunu_gumbel", "properties"),
        draws=("draws/akunu_gumbel",),
        in_make_engines=True,
        page="docs/akunu.md",
    ),
    Engine(
        "akunu/cuda",
        "the same on an NVIDIA GPU",
        module="akunu.cuda",
        needs="an NVIDIA GPU and the extra cuda",
        device="cuda",
        suites=("akunu/akunu_gumbel",),
        page="docs/akunu.md",
    ),
    Engine(
        "power_law",
        "the power-law sampler, behind the reference's filters",
        module="power_law",
        suites=("power_law", "properties"),
        in_make_engines=True,
        page="docs/power-law.md",
    ),
    Engine(
        "tsampler",
        "tsampler's documented API in TypeScript, our implementation, on Node.js",
        command=("node", "tsampler/adapter.mjs", "own"),
        needs="Node.js and `make tsampler`",
        suites=("tsampler", "properties"),
        draws=("draws/tsampler",),
        in_make_engines=True,
        page="docs/tsampler.md",
    ),
    Engine(
        "tsampler/published",
        "the package @lloyal-labs/tsampler in its place, where it is installed",
        command=("node", "tsampler/adapter.mjs", "published"),
        needs="Node.js and the package",
        suites=("tsampler", "properties"),
        draws=("draws/tsampler",),
        page="docs/tsampler.md",
    ),
    Engine(
        "transformers",
        "Hugging Face's logits processors",
        module="transformers.worker",
        needs="the extra transformers",
        suites=("transformers", "origin/transformers", "properties"),
        draws=("draws/transformers",),
        in_make_engines=True,
        page="docs/transformers.md",
    ),
    Engine(
        "lloyal",
        "lloyal.node's branches, by the makers of tsampler, on Node.js",
        command=("node", "javascript/lloyal.mjs", "{environment}"),
        environment="lloyal",
        suites=("lloyal", "properties"),
        draws=("draws/lloyal",),
        in_make_engines=True,
    ),
    Engine(
        "node_llama_cpp",
        "node-llama-cpp's evaluate: its own chain of llama.cpp's samplers, on Node.js",
        command=("node", "javascript/node_llama_cpp.mjs", "{environment}"),
        environment="node_llama_cpp",
        suites=("node_llama_cpp", "properties"),
        draws=("draws/node_llama_cpp",),
        in_make_engines=True,
    ),
    Engine(
        "transformers_js",
        "Transformers.js: one step of generate, and its logits processors, on Node.js",
        command=("node", "javascript/transformers_js.mjs", "{environment}"),
        environment="transformers_js",
        suites=("transformers_js", "properties"),
        draws=("draws/transformers_js",),
        in_make_engines=True,
    ),
    Engine(
        "mlx_lm",
        "MLX LM's logits processors and samplers, MLX on the CPU",
        module="mlx_lm.worker",
        environment="mlx_lm",
        suites=("mlx_lm", "properties"),
        draws=("draws/mlx_lm",),
        in_make_engines=True,
    ),
    Engine(
        "onnxruntime_genai",
        "ONNX Runtime GenAI's search on the CPU, logits given to its generator",
        module="onnxruntime_genai",
        environment="onnxruntime_genai",
        suites=("onnxruntime_genai", "properties"),
        draws=("draws/onnxruntime_genai",),
        in_make_engines=True,
    ),
    Engine(
        "llama_cpp_python",
        "llama-cpp-python's Llama: the chain that it makes of its arguments",
        module="llama_cpp_python",
        suites=("llama_cpp_python", "properties"),
        draws=("draws/llama_cpp_python",),
        in_make_engines=True,
        page="docs/engines/llama_cpp_python.md",
    ),
    Engine(
        "xllamacpp",
        "llama.cpp newer than v0.5.0: b11549, which xllamacpp links into its extension",
        module="xllamacpp",
        environment="xllamacpp",
        suites=("parity", "properties"),
        draws=("draws/xllamacpp",),
        in_make_engines=True,
    ),
    Engine(
        "ik_llama",
        "ik_llama.cpp, a fork of llama.cpp with the samplers' older shape",
        module="ik_llama.worker",
        environment="ik_llama",
        suites=("ik_llama", "properties"),
        draws=("draws/ik_llama",),
        in_make_engines=True,
    ),
    Engine(
        "gpt4all",
        "GPT4All's generate on the CPU, logits written into the model that it has mapped",
        module="gpt4all.worker",
        environment="gpt4all",
        suites=("gpt4all", "properties"),
        draws=("draws/gpt4all",),
        in_make_engines=True,
    ),
    Engine(
        "ctranslate2",
        "CTranslate2's sampling on the CPU, on models whose last bias is the logits",
        module="ctranslate2",
        environment="ctranslate2",
        suites=("ctranslate2", "properties"),
        draws=("draws/ctranslate2",),
        in_make_engines=True,
    ),
    Engine(
        "rwkv",
        "the sampler of the package rwkv, torch and NumPy on the CPU",
        module="rwkv",
        environment="rwkv",
        suites=("rwkv", "properties"),
        draws=("draws/rwkv",),
        in_make_engines=True,
    ),
    Engine(
        "vllm",
        "vLLM's sampler and its batch of requests, on the CPU",
        module="vllm.worker",
        environment="vllm",
        suites=("vllm", "origin/vllm", "properties"),
        draws=("draws/vllm",),
        in_make_engines=True,
    ),
    Engine(
        "sglang",
        "SGLang's sampler and its batch of requests, on the CPU",
        module="sglang.worker",
        environment="sglang",
        suites=("sglang", "properties"),
        draws=("draws/sglang",),
        in_make_engines=True,
    ),
    Engine(
        "exllamav3",
        "ExLlamaV3's sampling steps on the CPU, without its compiled extension",
        module="exllamav3.worker",
        environment="exllamav3",
        suites=("exllamav3", "properties"),
        draws=("draws/exllamav3",),
        in_make_engines=True,
    ),
    # Those that take GBNF text refuse some of it; see docs/grammar-engines.md.
    Engine(
        "llguidance",
        "llguidance's grammars, GBNF by its own converter",
        module="grammars.llguidance",
        needs="the extra llguidance",
        suites=("grammar",),
        grammars=["identical", "explained", "rejected", "unsupported"],
        page="docs/grammar-engines.md",
    ),
    Engine(
        "llguidance/rules",
        "the same engine on the rules as llama.cpp reads them",
        module="grammars.llguidance_rules",
        needs="the extra llguidance",
        suites=("grammar",),
        grammars=["identical", "explained"],
        page="docs/grammar-engines.md",
    ),
    Engine(
        "xgrammar",
        "xgrammar's grammars, GBNF as it is",
        module="grammars.xgrammar",
        needs="the extra xgrammar",
        suites=("grammar",),
        grammars=["identical", "explained", "rejected"],
        page="docs/grammar-engines.md",
    ),
    Engine(
        "xgrammar/rules",
        "the same engine on the rules as llama.cpp reads them",
        module="grammars.xgrammar_rules",
        needs="the extra xgrammar",
        suites=("grammar",),
        grammars=["identical", "explained"],
        page="docs/grammar-engines.md",
    ),
    Engine(
        "null",
        "does nothing: the floor of every timing",
        module="null",
        suites=("timing",),
    ),
)

ENGINES: dict[str, Engine] = {row.name: row for row in _ROWS}

# Planted faults as backends: no engines, so they are in no list.
_FAULTS = {
    "mutant": "sampler_parity.harness.mutants.worker",
    "mutant/engine": "sampler_parity.harness.mutants.engines.worker",
    "slow": "sampler_parity.harness.mutants.slow",
}

# No engines, they sample nothing: what asks a build which of its devices run here, and what
# computes the logits that MLX LM's server has.
_PROBES = {
    "llama.cpp/devices": f"{_PACKAGE}.llama_cpp.probe",
    "mlx_lm/logits": f"{_PACKAGE}.mlx_lm.logits",
}

# llama.cpp in a build for another platform, which its name says.
_ELSEWHERE = {"llama.cpp/elsewhere": f"{_PACKAGE}.platforms.worker"}

# Workers that the room of the token trie completes: they measure skip ratios, too.
_WITH_TRIE = {
    "llama.cpp": "sampler_parity.harness.trie.llama_cpp",
    "token_trie": "sampler_parity.harness.trie.token_trie",
}

# Worker name -> the module that holds its class `Worker`.
_MODULES = {row.name: f"{_PACKAGE}.{row.module}" for row in ENGINES.values() if row.module}
WORKERS = _MODULES | _WITH_TRIE | _FAULTS | _PROBES | _ELSEWHERE

# What runs a worker: its name and arguments follow. -P: a random.py of the folder is not loaded.
WORKER_COMMAND = [sys.executable, "-P", "-m", f"{_PACKAGE}.worker"]

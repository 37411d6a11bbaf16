"""A WebGPU device, rows of candidates in its memory, and the shaders that change them.

The device is the first that wgpu-native finds: Metal, Vulkan or Direct3D 12. On a machine without a
GPU it is Mesa's llvmpipe (the package mesa-vulkan-drivers), which runs shaders on the CPU.
"""

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.reference.candidates import Candidates

SHADERS = Path(__file__).parent / "shaders"

# The files of each stage, before its own.
PARTS = {
    "top_k": ["order", "search"],
    "top_p": ["softmax", "order", "search"],
    "typical_p": ["softmax", "order", "search"],
    "min_p": ["softmax", "order"],
    "xtc": ["softmax", "order"],
    "temp": ["first_largest"],
    "greedy": ["first_largest"],
    "dist": ["softmax"],
    "penalties": [],
    "logit_bias": [],
}

ROW = np.dtype([("n", "u4"), ("is_sorted", "u4"), ("selected", "i4"), ("refused", "u4")])
WORDS, FLOATS = ("row", "first", "past", "k", "least"), ("a", "b", "c")
TASK = np.dtype([*((name, "u4") for name in WORDS), *((name, "f4") for name in FLOATS)])
READ = ("ids", "logits", "probs", "rows")
AT_ONCE = 2**16  # candidates: as many are read behind a stage in one go
BINDINGS = ("ids", "logits", "probs", "rows", "tasks", "table", "scratch")


@dataclass
class Task:
    """One row that takes a stage. Shaders name what k, least, a, b and c are. table: pairs of
    int32."""

    row: int
    k: int = 0
    least: int = 0
    a: float = 0
    b: float = 0
    c: float = 0
    table: Any = ()


@dataclass(frozen=True)
class Edit:
    """A fault planted in a shader: a text that stands once in a file, and what replaces it."""

    file: str
    replace: str
    by: str


@dataclass(frozen=True)
class Shaders:
    """Shaders of an engine. parts: the files of each stage, before its own. folder: its own files,
    next to those of SHADERS."""

    parts: Mapping[str, list[str]]
    folder: Path = SHADERS
    edit: Edit | None = None

    def source(self, stage: str) -> str:
        """Return the text of a stage with its parts. Raises InputError for an edit that does not
        fit."""
        names = ["common", "floats", *self.parts[stage], stage]
        return "\n".join(self.text(name) for name in names)

    def text(self, name: str) -> str:
        places = [folder / f"{name}.wgsl" for folder in (self.folder, SHADERS)]
        text = next(path for path in places if path.is_file()).read_text(encoding="utf-8")
        if self.edit is None or self.edit.file != name:
            return text
        if (count := text.count(self.edit.replace)) != 1:
            problem = f"stands {count} times, and must once: {self.edit.replace!r}"
            raise InputError(f"{name}.wgsl", problem, "copy the lines as they are now")
        return text.replace(self.edit.replace, self.edit.by)


class Device:
    """Raises Unsupported without wgpu or without an adapter."""

    def __init__(self, shaders: Shaders) -> None:
        self.shaders = shaders
        try:
            self.wgpu = importlib.import_module("wgpu")
        except ImportError:
            raise Unsupported("wgpu is not installed: sampler-parity engines add webgpu") from None
        adapter = first_adapter(self.wgpu)
        most = adapter.limits["max-storage-buffer-binding-size"]
        self.device = adapter.request_device_sync(
            required_limits={"max-storage-buffer-binding-size": most}
        )
        self.summary, self.build = adapter.summary, f"wgpu {self.wgpu.__version__}"
        kinds = ["read-only-storage" if b in ("tasks", "table") else "storage" for b in BINDINGS]
        stage = self.wgpu.ShaderStage.COMPUTE
        self.layout = self.device.create_bind_group_layout(
            entries=[
                {"binding": i, "visibility": stage, "buffer": {"type": kind}}
                for i, kind in enumerate(kinds)
            ]
        )
        self.pipelines: dict[str, Any] = {}

    def rows(self, logits: NDArray[np.float32]) -> "DeviceRows":
        return DeviceRows(self, logits)

    def buffer(self, size: int, *usages: str) -> Any:
        usage = 0
        for name in usages or ("STORAGE", "COPY_SRC", "COPY_DST"):
            usage |= getattr(self.wgpu.BufferUsage, name)
        return self.device.create_buffer(size=max(16, -(-size // 4) * 4), usage=usage)

    def pipeline(self, stage: str) -> Any:
        if stage not in self.pipelines:
            module = self.device.create_shader_module(code=self.shaders.source(stage), label=stage)
            layout = self.device.create_pipeline_layout(bind_group_layouts=[self.layout])
            self.pipelines[stage] = self.device.create_compute_pipeline(
                layout=layout, compute={"module": module, "entry_point": "main"}
            )
        return self.pipelines[stage]


@cache
def adapters(wgpu: Any) -> list[Any]:
    """Return the adapters of Vulkan, Metal and Direct3D 12, those of the CPU last."""
    if "XDG_RUNTIME_DIR" not in os.environ:
        os.environ.setdefault("NODEVICE_SELECT", "1")  # Mesa's layer complains of it in four lines
    extras = importlib.import_module("wgpu.backends.wgpu_native.extras")
    extras.set_instance_extras(backends=["Primary"])
    found = wgpu.gpu.enumerate_adapters_sync()
    return sorted(found, key=lambda adapter: adapter.info["adapter_type"] == "CPU")


def first_adapter(wgpu: Any) -> Any:
    """Return the adapter to use. Raises Unsupported."""
    for adapter in adapters(wgpu):
        return adapter
    raise Unsupported("wgpu finds no adapter; without a GPU install mesa-vulkan-drivers")


class Rows:
    """Candidates of several rows in a device's memory. logits: float32[rows, n_vocab].

    here: rows as they are, of those that were read or written since the last stage. A subclass
    has the memory.
    """

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.count, n = logits.shape
        self.size = max(4, n)  # a binding has 16 bytes or more
        cells = self.count * self.size
        sizes = {"ids": 4 * cells, "logits": 4 * cells, "probs": 4 * cells}
        self.make(sizes | {"rows": ROW.itemsize * self.count, "scratch": 16 * cells})
        self.here = {row: Candidates.from_logits(one) for row, one in enumerate(logits)}
        self.read_back: dict[str, NDArray[Any]] = {}
        self.put("ids", np.tile(np.arange(self.size, dtype=np.int32), self.count))
        self.put("logits", np.pad(logits, ((0, 0), (0, self.size - n))))
        self.states = np.zeros(self.count, ROW)
        self.states["n"], self.states["selected"] = n, -1
        self.put("rows", self.states)

    def make(self, sizes: dict[str, int]) -> None:
        """Make buffers of sizes in bytes, filled with zeros."""
        raise NotImplementedError

    def put(self, name: str, values: NDArray[Any], at: int = 0) -> None:
        """Write values. at: the byte at which they begin."""
        raise NotImplementedError

    def dispatch(self, stage: str, given: dict[str, NDArray[Any]]) -> None:
        """Run a stage, a workgroup for each task. given: the buffers `tasks` and `table`."""
        raise NotImplementedError

    def words(self, names: tuple[str, ...]) -> dict[str, NDArray[np.uint32]]:
        """Read buffers."""
        raise NotImplementedError

    def put_row(self, row: int, cand: Candidates) -> None:
        """Write the candidates of one row."""
        at = 4 * row * self.size
        self.put("ids", cand.ids, at)
        self.put("logits", cand.logits.astype(np.float32, copy=False), at)
        self.put("probs", cand.p.astype(np.float32, copy=False), at)
        self.states[row] = (len(cand), cand.sorted, cand.selected, 0)
        self.put("rows", self.states[row : row + 1], ROW.itemsize * row)
        self.here[row] = cand.copy()

    def run(self, stage: str, tasks: list[Task]) -> None:
        """Apply a stage to rows, all at once."""
        table = [pair for task in tasks for pair in task.table]
        packed = np.zeros(len(tasks), TASK)
        at = 0
        for i, task in enumerate(tasks):
            past = at + len(task.table)
            packed[i] = (task.row, at, past, task.k, task.least, task.a, task.b, task.c)
            at = past
        self.dispatch(stage, {"tasks": packed, "table": np.array(table or [(0, 0)], np.int32)})
        small = self.count * self.size <= AT_ONCE
        self.here, self.read_back = {}, self.words(READ if small else ("rows",))
        self.states = self.read_back["rows"].view(ROW)[: self.count].copy()

    def read(self, row: int) -> Candidates:
        """Return the candidates of a row."""
        if row not in self.here:
            if "ids" not in self.read_back:
                self.read_back = self.words(READ)
            state, at = self.states[row], row * self.size
            here = slice(at, at + int(state["n"]))
            ids, logits, p = (self.read_back[name][here].copy() for name in READ[:3])
            self.here[row] = Candidates(
                ids.view(np.int32), logits.view(np.float32), p.view(np.float32),
                bool(state["is_sorted"]), int(state["selected"]),
            )  # fmt: skip
        return self.here[row].copy()


class DeviceRows(Rows):
    """Rows on a device of wgpu."""

    def __init__(self, on: Device, logits: NDArray[np.float32]) -> None:
        self.on = on
        super().__init__(logits)

    def make(self, sizes: dict[str, int]) -> None:
        self.buffers = {name: self.on.buffer(size) for name, size in sizes.items()}
        read = sum(self.buffers[name].size for name in READ)
        self.copy = self.on.buffer(read, "MAP_READ", "COPY_DST")

    def put(self, name: str, values: NDArray[Any], at: int = 0) -> None:
        if values.size:
            self.on.device.queue.write_buffer(self.buffers[name], at, np.ascontiguousarray(values))

    def dispatch(self, stage: str, given: dict[str, NDArray[Any]]) -> None:
        on, buffers = self.on, dict(self.buffers)
        for name, values in given.items():
            buffers[name] = on.buffer(values.nbytes)
            on.device.queue.write_buffer(buffers[name], 0, values)
        group = on.device.create_bind_group(
            layout=on.layout,
            entries=[
                {"binding": i, "resource": {"buffer": buffers[name]}}
                for i, name in enumerate(BINDINGS)
            ],
        )
        encoder = on.device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(on.pipeline(stage))
        work.set_bind_group(0, group)
        work.dispatch_workgroups(len(given["tasks"]))
        work.end()
        on.device.queue.submit([encoder.finish()])

    def words(self, names: tuple[str, ...]) -> dict[str, NDArray[np.uint32]]:
        encoder, at = self.on.device.create_command_encoder(), 0
        sizes = [self.buffers[name].size for name in names]
        for name, size in zip(names, sizes, strict=True):
            encoder.copy_buffer_to_buffer(self.buffers[name], 0, self.copy, at, size)
            at += size
        self.on.device.queue.submit([encoder.finish()])
        self.copy.map_sync("READ", 0, at)
        words = np.frombuffer(bytes(self.copy.read_mapped(0, at)), np.uint32)
        self.copy.unmap()
        parts = np.split(words, np.cumsum(sizes[:-1]) // 4)
        return dict(zip(names, parts, strict=True))

"""A WebGPU device, rows of candidates in its memory, and the shaders that change them.

The device is the first that wgpu-native finds: Metal, Vulkan or Direct3D 12. On a machine without a
GPU it is Mesa's llvmpipe (the package mesa-vulkan-drivers), which runs shaders on the CPU.
"""

import importlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import Unsupported
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
TASK = np.dtype(
    [("row", "u4"), ("first", "u4"), ("past", "u4"), ("k", "u4"), ("least", "u4")]
    + [("a", "f4"), ("b", "f4"), ("c", "f4")]
)
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


def source_of(stage: str) -> str:
    """Return the text of a stage's shader with the parts that it uses."""
    names = ["common", "floats", *PARTS[stage], stage]
    return "\n".join((SHADERS / f"{name}.wgsl").read_text() for name in names)


class Device:
    """Raises Unsupported without wgpu or without an adapter."""

    def __init__(self) -> None:
        try:
            self.wgpu = importlib.import_module("wgpu")
        except ImportError:
            raise Unsupported("wgpu is not installed: sampler-parity engines add webgpu") from None
        adapter = first_adapter(self.wgpu)
        most = adapter.limits["max-storage-buffer-binding-size"]
        self.device = adapter.request_device_sync(
            required_limits={"max-storage-buffer-binding-size": most}
        )
        self.summary = adapter.summary
        kinds = ["read-only-storage" if b in ("tasks", "table") else "storage" for b in BINDINGS]
        stage = self.wgpu.ShaderStage.COMPUTE
        self.layout = self.device.create_bind_group_layout(
            entries=[
                {"binding": i, "visibility": stage, "buffer": {"type": kind}}
                for i, kind in enumerate(kinds)
            ]
        )
        self.pipelines: dict[str, Any] = {}

    def buffer(self, size: int, *usages: str) -> Any:
        usage = 0
        for name in ("STORAGE", "COPY_SRC", "COPY_DST") if not usages else usages:
            usage |= getattr(self.wgpu.BufferUsage, name)
        return self.device.create_buffer(size=max(16, -(-size // 4) * 4), usage=usage)

    def pipeline(self, stage: str) -> Any:
        if stage not in self.pipelines:
            module = self.device.create_shader_module(code=source_of(stage), label=stage)
            layout = self.device.create_pipeline_layout(bind_group_layouts=[self.layout])
            self.pipelines[stage] = self.device.create_compute_pipeline(
                layout=layout, compute={"module": module, "entry_point": "main"}
            )
        return self.pipelines[stage]


def first_adapter(wgpu: Any) -> Any:
    """Return the first adapter that is not OpenGL's. Raises Unsupported."""
    for adapter in wgpu.gpu.enumerate_adapters_sync():
        if adapter.info["backend_type"] in ("Vulkan", "Metal", "D3D12"):
            return adapter
    raise Unsupported("wgpu finds no adapter; without a GPU install mesa-vulkan-drivers")


@cache
def device() -> Device:
    return Device()


class Rows:
    """Candidates of several rows in the device's memory. logits: float32[rows, n_vocab]."""

    def __init__(self, on: Device, logits: NDArray[np.float32]) -> None:
        self.on = on
        self.count, n = logits.shape
        self.size = max(4, n)  # a binding has 16 bytes or more
        cells = self.count * self.size
        self.buffers = {
            name: on.buffer(4 * cells) for name in ("ids", "logits", "probs")
        } | {"scratch": on.buffer(16 * cells), "rows": on.buffer(ROW.itemsize * self.count)}
        self.copy = on.buffer(sum(self.buffers[b].size for b in ("ids", "logits", "probs", "rows")), "MAP_READ", "COPY_DST")
        self.put("ids", np.tile(np.arange(self.size, dtype=np.int32), self.count))
        self.put("logits", np.pad(logits, ((0, 0), (0, self.size - n))))
        state = np.zeros(self.count, ROW)
        state["n"], state["selected"] = n, -1
        self.put("rows", state)
        self.known: tuple[NDArray[Any], ...] | None = None

    def put(self, name: str, values: NDArray[Any], at: int = 0) -> None:
        """Write values. at: the byte at which they begin."""
        if values.size:
            self.on.device.queue.write_buffer(self.buffers[name], at, np.ascontiguousarray(values))
        self.known = None

    def put_row(self, row: int, cand: Candidates) -> None:
        """Write the candidates of one row."""
        at = 4 * row * self.size
        self.put("ids", cand.ids, at)
        self.put("logits", cand.logits.astype(np.float32, copy=False), at)
        self.put("probs", cand.p.astype(np.float32, copy=False), at)
        state = np.array([(len(cand), cand.sorted, cand.selected, 0)], ROW)
        self.put("rows", state, ROW.itemsize * row)

    def run(self, stage: str, tasks: list[Task]) -> None:
        """Apply a stage to rows, all at once."""
        on, table = self.on, [pair for task in tasks for pair in task.table]
        packed = np.zeros(len(tasks), TASK)
        at = 0
        for i, task in enumerate(tasks):
            past = at + len(task.table)
            packed[i] = (task.row, at, past, task.k, task.least, task.a, task.b, task.c)
            at = past
        pairs = np.array(table or [(0, 0)], np.int32)
        given = {"tasks": on.buffer(packed.nbytes), "table": on.buffer(pairs.nbytes)}
        on.device.queue.write_buffer(given["tasks"], 0, packed)
        on.device.queue.write_buffer(given["table"], 0, pairs)
        buffers = self.buffers | given
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
        work.dispatch_workgroups(len(tasks))
        work.end()
        on.device.queue.submit([encoder.finish()])
        self.known = None

    def _words(self, *names: str) -> list[NDArray[np.uint32]]:
        encoder, at = self.on.device.create_command_encoder(), 0
        sizes = [self.buffers[name].size for name in names]
        for name, size in zip(names, sizes, strict=True):
            encoder.copy_buffer_to_buffer(self.buffers[name], 0, self.copy, at, size)
            at += size
        self.on.device.queue.submit([encoder.finish()])
        self.copy.map_sync("READ", 0, at)
        words = np.frombuffer(bytes(self.copy.read_mapped(0, at)), np.uint32)
        self.copy.unmap()
        return np.split(words, np.cumsum(sizes[:-1]) // 4)

    def state(self) -> NDArray[Any]:
        """Return the state of each row."""
        return self._words("rows")[0].view(ROW)[: self.count]

    def read(self, row: int) -> Candidates:
        """Return the candidates of a row."""
        if self.known is None:
            self.known = tuple(self._words("ids", "logits", "probs", "rows"))
        ids, logits, p, rows = self.known
        state, at = rows.view(ROW)[row], row * self.size
        here = slice(at, at + int(state["n"]))
        return Candidates(
            ids.view(np.int32)[here].copy(), logits.view(np.float32)[here].copy(),
            p.view(np.float32)[here].copy(), bool(state["is_sorted"]), int(state["selected"]),
        )  # fmt: skip

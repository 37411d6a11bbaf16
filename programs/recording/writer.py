"""Write a recording from Python: for engines that Python drives, and for tests.

The C++ recorder (native/) writes the same files. It is loaded into programs that have numpy alone,
so events are dictionaries here (events.py describes them).
"""

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.programs.recording.format import (
    LISTED,
    SEGMENT,
    STRIDE,
    Lists,
    bytes_of,
    line_of,
    sum_of,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from sampler_parity.programs.recording.detail import Detail
    from sampler_parity.programs.recording.events import Form


class RecordingWriter:
    """Append events and arrays of this process to a folder. Thread-safe."""

    def __init__(
        self, folder: Path, program: str, detail: "Detail" = "survivors", text: bool = True
    ):
        self.folder, self.detail, self.pid = folder, detail, os.getpid()
        taken = len(list(folder.glob(f"{self.pid}*.events")))  # a program that became another one
        self.name = f"{self.pid}-{taken + 1}" if taken else str(self.pid)
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self._chain, self._segment, self._offset = 0, 1, 0
        self.applies = 0
        now = time.time()
        about = {"pid": self.pid, "program": program, "detail": detail, "text": text, "time": now}
        self.event({"e": "start", **about})

    def event(self, event: "BaseModel | dict[str, Any]") -> None:
        """Write an event with its time."""
        if not isinstance(event, dict):
            values = event.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            event = {"e": event.e, **values}  # type: ignore[attr-defined]
        fields = dict(event)
        with self._lock:
            fields["t"] = int((time.monotonic() - self._begin) * 1000)
            line, self._chain = line_of(fields, self._chain)
            _append(self.folder / f"{self.name}.events", line)

    def array(
        self, ids: NDArray[Any], logits: NDArray[Any], p: NDArray[Any] | None = None,
        sorted: bool | None = False, selected: int = -1, first: bool = False, listed: bool = False,
    ) -> Any:  # fmt: skip
        """Write candidates as the detail requires; return the fields of their Array. first: those
        before a chain. listed: list them, however many they are."""
        lists = Lists(
            np.ascontiguousarray(ids, np.int32),
            np.ascontiguousarray(logits, np.float32),
            np.zeros(len(ids), np.float32) if p is None else np.ascontiguousarray(p, np.float32),
        )
        n = len(lists.ids)
        if self.detail == "tokens":
            return {"n": n, "sorted": sorted, "selected": selected}
        stride = 1 if n <= LISTED or sorted is None else STRIDE
        offset = 0 if stride == 1 else self.applies % STRIDE
        form: Form = "pairs" if listed or self.detail == "stages" or n <= LISTED else "none"
        if self.detail == "stages" and p is not None:
            form = "full"
        if first:
            form = "logits" if np.array_equal(lists.ids, np.arange(n)) else "pairs"
        total = sum_of(lists.ids, lists.logits, stride, offset)
        content = bytes_of(lists, form)
        at = self._place(content) if content else None
        return {"n": n, "sorted": sorted, "selected": selected, "form": form, "at": at,
                "sum": total, "stride": stride, "offset": offset}  # fmt: skip

    def _place(self, content: bytes) -> tuple[int, int]:
        with self._lock:
            if self._offset and self._offset + len(content) > SEGMENT:
                self._segment, self._offset = self._segment + 1, 0
            at = (self._segment, self._offset)
            _append(self.folder / f"{self.name}.{self._segment:04}.arrays", content)
            self._offset += len(content)
        return at


def _append(path: Path, content: bytes) -> None:
    """Append with one write: a program that is killed leaves whole lines."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)

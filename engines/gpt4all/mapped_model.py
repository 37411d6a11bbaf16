"""A table model that gpt4all has mapped: rows of logits are written into its file.

Its random numbers are part of the state that llmodel_save_state_data returns: the length of a text,
the text of std::mt19937 as operator<< writes it, the rest. gpt4all takes no seed but the second in
which the model is loaded. Here each instance puts the text of its own generator in its place.
"""

import ctypes
import importlib
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.table_model import gguf as table
from sampler_parity.harness.errors import InputError

LONGEST_TEXT = 2048
_WHERE = {"allow_download": False, "device": "cpu", "n_threads": 1, "n_ctx": LONGEST_TEXT}


class Numbers:
    """A generator: the text of std::mt19937, out of date while a model draws from it."""

    def __init__(self, seed: int) -> None:
        generator = np.random.MT19937(0)
        generator._legacy_seeding(seed)
        words = generator.state["state"]["key"].tolist()
        self.text = " ".join(map(str, [*words, len(words)])).encode()


class Model:
    def __init__(self, package: Any, n_vocab: int) -> None:
        self.library = importlib.import_module(f"{package.__name__}._pyllmodel").llmodel
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / table.FILE
        table.write(path.parent, np.zeros((1, n_vocab), np.float32), words=True)
        start = path.stat().st_size - 4 * n_vocab * table.WIDTH
        self.rows = np.memmap(path, np.float32, "r+", start, (n_vocab, table.WIDTH))
        self.model = package.GPT4All(path.name, model_path=path.parent, **_WHERE)
        self.drawing: Numbers | None = None

    def tokens(
        self, logits: NDArray[np.float32], text: list[int], numbers: Numbers, n: int, **of: Any
    ) -> list[int]:
        """Generate n tokens after a text, all from these logits."""
        self.draw_from(numbers)
        self.rows[:, 0] = logits
        words = table.BETWEEN_WORDS.join(map(table.word, text))
        tokens: list[int] = []
        while len(tokens) < n:
            tokens += self._answer(words, max_tokens=n - len(tokens), n_batch=512, **of)
        return tokens

    def _answer(self, words: str, **of: Any) -> list[int]:
        """Generate tokens until one is 0, which ends a text and is not passed to the callback."""
        came: list[tuple[int, str]] = []

        def callback(token: int, text: str) -> bool:
            came.append((token, text))
            return True

        self.model.generate(words, callback=callback, **of)
        if came and came[-1][0] < 0:
            raise InputError("gpt4all", came[-1][1])
        tokens = [token for token, _ in came]
        return tokens if len(tokens) == of["max_tokens"] else [*tokens, 0]

    def draw_from(self, numbers: Numbers | None) -> None:
        """Save the generator state in use, and load another."""
        if numbers is self.drawing:
            return
        state = self._state()
        (length,) = struct.unpack_from("<Q", state)
        if self.drawing is not None:
            self.drawing.text = state[8 : 8 + length]
        if numbers is not None:
            head = struct.pack("<Q", len(numbers.text)) + numbers.text
            self._call("restore", head + state[8 + length :])
        self.drawing = numbers

    def _state(self) -> bytes:
        function = self.library.llmodel_get_state_size
        function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_void_p,)
        state = ctypes.create_string_buffer(function(self.model.model.model))
        size = self._call("save", state)
        return state.raw[:size]

    def _call(self, what: str, state: Any) -> int:
        function = getattr(self.library, f"llmodel_{what}_state_data")
        function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_char_p)
        return int(function(self.model.model.model, state))

"""Run in an engine's environment: a table model of rows, and the logits that the engine has of it.

python -I read_back.py FOLDER_OF_SAMPLER_PARITY ENGINE ROWS.npy READ.npy: of each row those of a
text that ends in its token, and of one token beyond the table.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


def onnxruntime_genai(rows: Rows) -> Any:
    import onnxruntime_genai as og

    from sampler_parity.engines.onnxruntime_genai import table_model as onnx

    with tempfile.TemporaryDirectory() as folder:
        onnx.write(Path(folder), rows)
        model = og.Model(folder)
    for token in range(len(rows) + 1):
        parameters = og.GeneratorParams(model)
        parameters.set_search_options(max_length=8)
        generator = og.Generator(model, parameters)
        generator.append_tokens(np.array([[0, token]], np.int32))
        yield np.array(generator.get_logits()).reshape(-1)


def ctranslate2(rows: Rows) -> Any:
    import ctranslate2 as ct2

    from sampler_parity.engines.ctranslate2 import table_model as table

    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            table.write(Path(folder), row[np.newaxis])
            generator = ct2.Generator(folder, device="cpu", compute_type="float32")
        yield np.array(generator.forward_batch([[0]]))[0, -1]


READERS = {"onnxruntime_genai": onnxruntime_genai, "ctranslate2": ctranslate2}


def main() -> None:
    sampler_parity, engine, rows, read = sys.argv[1:]
    sys.path.insert(0, sampler_parity)
    np.save(read, np.array([*READERS[engine](np.load(rows))]))


if __name__ == "__main__":
    main()

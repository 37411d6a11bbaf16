"""Table models: an engine's own logits of one are the rows it was made of, to the bit."""

import subprocess
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.engines.ctranslate2 import table_model as ctranslate2
from sampler_parity.harness.backends import environments
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.logits import FAMILIES
from tests.support import read_back

NAMESPACE = Path(environments.__file__).parents[3]
Rows = NDArray[np.float32]


def read(engine: str, rows: Rows, folder: Path) -> Rows:
    if why := environments.missing(engine):
        pytest.skip(f"unavailable: {why}")
    np.save(folder / "rows.npy", rows)
    python = environments.python_of(environments.folder_of(engine))
    script: ModuleType = read_back
    files = [str(folder / "rows.npy"), str(folder / "read.npy")]
    command = [str(python), "-I", str(script.__file__), str(NAMESPACE), engine, *files]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return np.asarray(np.load(folder / "read.npy"), np.float32)


def edges(n_vocab: int) -> Rows:
    """Every family, zeros of both signs and denormals, infinities."""
    rng = np.random.default_rng(1)
    rows = [make(rng, n_vocab) for make in FAMILIES.values()]
    rows += [np.full(n_vocab, value) for value in (0.0, -0.0, 1e-45, -1e-45, np.inf, -np.inf)]
    return np.array(rows, np.float32)


@pytest.mark.nightly
@pytest.mark.parametrize("n_vocab", [1, 7, 128256])
def test_onnx_answers_each_token_with_its_row_and_those_beyond_with_the_last(
    n_vocab: int, tmp_path: Path
) -> None:
    rows = edges(n_vocab)
    got = read("onnxruntime_genai", rows, tmp_path)
    assert np.array_equal(got.view(np.uint32), np.vstack([rows, rows[-1:]]).view(np.uint32))


@pytest.mark.nightly
def test_onnx_holds_every_bit_of_a_nan(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, (3, 1000), np.uint32)
    got = read("onnxruntime_genai", bits.view(np.float32), tmp_path)
    assert np.array_equal(got.view(np.uint32)[:3], bits)


@pytest.mark.nightly
@pytest.mark.parametrize("n_vocab", [1, 7, 32000])
def test_ctranslate2_answers_with_the_row_but_for_the_sign_of_a_zero(
    n_vocab: int, tmp_path: Path
) -> None:
    rows = edges(n_vocab)
    got = read("ctranslate2", rows, tmp_path)
    assert np.array_equal(got.view(np.uint32), (rows + np.float32(0)).view(np.uint32))


def test_a_table_of_ctranslate2_has_one_row(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^table model: 2 rows, CTranslate2's holds one"):
        ctranslate2.write(tmp_path, np.zeros((2, 3), np.float32))

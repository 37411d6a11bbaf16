import numpy as np
import pytest
from pydantic import ValidationError

from sampler_parity.harness.inputs.logits import FAMILIES, GeneratedLogits, Literals


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 1000])
def test_family_gives_n_float32_without_nan_and_something_finite(family: str, n: int) -> None:
    row = GeneratedLogits(family=family, n=n, seed=1).row(0)  # type: ignore[arg-type]
    assert row.dtype == np.float32
    assert row.shape == (n,)
    assert not np.isnan(row).any()
    assert np.isfinite(row).any()


def test_family_repeats_by_seed_and_changes_by_step() -> None:
    source = GeneratedLogits(family="normal", n=50, seed=4)
    assert (source.row(2) == GeneratedLogits(family="normal", n=50, seed=4).row(2)).all()
    assert (source.row(2) != source.row(3)).any()


def test_generated_rows_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        GeneratedLogits(family="normal", n=5).row(0)[0] = 1


def test_ties_have_ties_and_masked_has_bans() -> None:
    ties = GeneratedLogits(family="ties", n=500).row(0)
    assert len(set(ties.tolist())) < 60
    assert np.isinf(GeneratedLogits(family="masked", n=500).row(0)).sum() > 100


def test_probs_become_their_float32_logarithm() -> None:
    # logf(0.25f) = -1.3862944 = 0xBFB17218
    row = Literals(probs=[0.25, 0.0]).row(0)
    assert row.view(np.uint32)[0] == 0xBFB17218
    assert row[1] == -np.inf


@pytest.mark.parametrize("bad", [{"values": [1.0], "probs": [1.0]}, {}], ids=["both", "neither"])
def test_literals_need_values_or_probs(bad: dict[str, list[float]]) -> None:
    with pytest.raises(ValidationError, match="give either values or probs"):
        Literals(**bad)

"""Texts that builds for other platforms write, compared with the predictions of the reference."""

import pytest

from sampler_parity.harness.backends import reference
from sampler_parity.harness.llama_cpp import worker as native
from sampler_parity.reference.platforms import on
from tests.support.platform_cases import real_build
from tests.support.platform_texts import chains, text, texts

BUILDS = (
    *("libc++", "libc++19", "wasm", "arm64-gcc", "v0.5.0-linux-arm64", "musl", "x64-v3"),
    "v0.4.0-win-x64",
)


@pytest.mark.nightly
@pytest.mark.parametrize("name", BUILDS)
def test_each_of_120_texts_is_predicted_token_by_token(name: str) -> None:
    with real_build(name) as worker:
        real = texts(worker)
    with on(worker._build.platform):
        predicted = texts(reference.Worker())
    assert [of for of in real if real[of] != predicted[of]] == []
    assert len(real) == 120


@pytest.mark.nightly
def test_each_of_120_texts_is_predicted_of_the_llama_cpp_that_is_installed() -> None:
    assert texts(native.Worker()) == texts(reference.Worker())


@pytest.mark.nightly
def test_a_text_of_another_platform_is_no_prediction_for_this_one() -> None:
    """The texts can distinguish platforms: an adaptive_p differs from its first ties on."""
    assert "adaptive_p" in chains(0)
    with on("wasm"):
        elsewhere = text(reference.Worker(), "adaptive_p", 0)
    assert elsewhere != text(native.Worker(), "adaptive_p", 0)

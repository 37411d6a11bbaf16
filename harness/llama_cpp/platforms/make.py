"""Builds for other platforms, registered in the user's cache folder as others are: `builds make`
compiles one, `builds add` links a worker to a package's library."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.llama_cpp.build_files import digests_of_all
from sampler_parity.harness.llama_cpp.platforms import recipes, runners
from sampler_parity.harness.llama_cpp.recorded import Build, builds_folder, register, today
from sampler_parity.harness.llama_cpp.signatures import (
    SIGNATURES,
    has,
    model_layout,
    signature,
)
from sampler_parity.reference.chronology import NEWEST


def check(names: Sequence[str]) -> None:
    """Raise InputError for a name without a recipe, and for all that the builds lack here."""
    lacks: dict[str, str] = {}
    for name in names:
        if name not in recipes.made():
            raise InputError(f"build {name!r}", "no recipe", f"use {', '.join(recipes.made())}")
        recipe = recipes.made()[name]
        lacks |= recipes.lacking(recipe) | runners.lacking(recipe.runner)
    recipes.refuse(lacks)


def make(name: str) -> Build:
    """Compile the samplers by a recipe, after `check`. Raises InputError."""
    recipe = recipes.made()[name]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        recipes.compile_alone(recipe, folder)
        build = _build(name, recipe, folder).model_copy(update={"recipe": name})
        register(build, folder)
    return build


def add_package(package: str, version: str, release: str, archive: Path, folder: Path) -> Build:
    """Register an unpacked package of another platform with a worker linked to its libllama.
    release: from its metadata. Raises InputError."""
    recipe = recipes.packages()[package]
    if not _called_as_newest(release):
        reason = f"the worker calls samplers as {NEWEST} takes them"
        raise InputError(f"{package}@{version}", f"is of {release}: {reason}")
    (library,) = folder.glob(f"*llama.{release}.*")
    recipes.link_with(recipe, library)
    for unused in (*folder.glob("*ggml-cpu-*"), *folder.glob("*llama-common*")):
        unused.unlink()  # sampling needs no device
    name = f"{release}-{package.rpartition('/')[2]}"
    update = {"package": f"{package}@{version}", "sha256": sha256_of(archive), "release": release}
    build = _build(name, recipe, folder).model_copy(update=update)
    register(build, folder)
    return build


def _called_as_newest(release: str) -> bool:
    """Return whether the release takes every sampler and a model as the worker's llama.h declares
    them."""
    try:
        return model_layout(release) == model_layout(NEWEST) and all(
            signature(name, release) == signature(name, NEWEST)
            for name in SIGNATURES
            if has(name, NEWEST)
        )
    except (Unsupported, InputError):
        return False


def _build(name: str, recipe: recipes.Recipe, folder: Path) -> Build:
    return Build(
        name=name,
        folder=str(builds_folder().resolve() / name),
        release=NEWEST,
        sha256=sha256_of(folder / recipe.program),
        added=today(),
        libraries=digests_of_all(folder),
        platform=recipe.platform,
        program=recipe.program,
        runner=recipe.runner,
    )

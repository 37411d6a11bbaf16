"""Builds for other platforms, by the recipes of recipes.toml.

`builds make NAME` compiles llama.cpp's samplers alone. `builds add` links a worker to a package's
library. Both register the build in the user's cache folder, as others are."""

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.files import read_table, sha256_of
from sampler_parity.harness.llama_cpp import sources
from sampler_parity.harness.llama_cpp.build_files import digests_of_all
from sampler_parity.harness.llama_cpp.platforms import runners
from sampler_parity.harness.llama_cpp.recorded import Build, builds_folder, register, today
from sampler_parity.harness.llama_cpp.signatures import SIGNATURES, has, model_layout, signature
from sampler_parity.harness.strict import Strict
from sampler_parity.reference.chronology import NEWEST

_FOLDER = Path(__file__).parent
# as CMake's Release
_OPTIONS = ("-std=gnu++17", "-O3", "-DNDEBUG", "-Wno-deprecated-declarations")
# what the sampler file needs, and what answers for the rest of libllama
_ALONE = ("worker.cpp", "vocabulary_table.cpp")
_WITH_LIBRARY = ("worker.cpp", "vocabulary_file.cpp")
PATCH = _FOLDER / "portable.patch"
ROUNDED_TWICE = "-ffp-contract=off"  # as in the patch for CMake


class Recipe(Strict):
    """compiler, c_compiler and packages: their commands, and Debian's packages that have them.

    platform: its row in reference/platforms. runner: of runners.py, "" for none. link: more
    arguments. program: what the runner runs. mathematics: an archive whose expf, logf and the like
    stand before those of the C library. patched: by portable.patch.
    """

    platform: str
    compiler: tuple[str, ...]
    c_compiler: str
    packages: tuple[str, ...]
    runner: str = ""
    link: tuple[str, ...] = ()
    program: str = "worker"
    mathematics: str = ""
    patched: bool = False

    def portable(self) -> "Recipe":
        compiler, packages = (*self.compiler, ROUNDED_TWICE), (*self.packages, "patch")
        changed = {"platform": "portable", "compiler": compiler, "packages": packages}
        return self.model_copy(update={**changed, "patched": True})


class _RecipesFile(Strict):
    portable: tuple[str, ...]
    make: dict[str, Recipe]
    package: dict[str, Recipe]


@functools.cache
def _file() -> _RecipesFile:
    return read_table(_FOLDER / "recipes.toml", _RecipesFile)


@functools.cache
def made() -> dict[str, Recipe]:
    """Return the recipes of `builds make`, by name."""
    file = _file()
    return file.make | {f"portable-{name}": file.make[name].portable() for name in file.portable}


def packages() -> dict[str, Recipe]:
    """Return how a worker is linked to npm's packages of other platforms, by package."""
    return _file().package


# what llama.cpp's samplers call of musl's mathematics, and what that calls
_MATHEMATICS = (
    *("exp2f_data", "exp_data", "expf", "exp", "log2f", "log2f_data", "logf", "logf_data"),
    *("pow", "pow_data", "powf", "powf_data"),
    *(f"__math_{how}" for how in ("divzero", "invalid", "oflow", "uflow", "xflow")),
    *(f"__math_{how}f" for how in ("divzero", "invalid", "oflow", "uflow", "xflow")),
)


def compile_alone(recipe: Recipe, folder: Path) -> None:
    """Compile the sampler and grammar files with our worker in the folder. Raises InputError."""
    tree = sources.sources()
    files = [_FOLDER / file for file in _ALONE]
    with tempfile.TemporaryDirectory() as temporary:
        sampler = patched(Path(temporary)) if recipe.patched else tree / sources.SAMPLER
        files += [sampler, tree / sources.GRAMMAR]
        with ThreadPoolExecutor() as pool:  # the two of llama.cpp take 10 s each and more
            objects = list(
                pool.map(lambda file: _compiled(recipe, file, tree, Path(temporary)), files)
            )
        never = Path(temporary) / "never.o"
        _run([recipe.c_compiler, "-c", str(_FOLDER / "never.c"), "-o", str(never)])
        mathematics = _mathematics(recipe, Path(temporary))
        _link(recipe, [*objects, never, *mathematics], folder)


def patched(folder: Path) -> Path:
    """Copy the sampler file with portable.patch applied, and its build file, to the folder."""
    tree = sources.sources()
    (folder / "src").mkdir()
    for file in (sources.SAMPLER, "src/CMakeLists.txt"):
        shutil.copy(tree / file, folder / file)
    _run(["patch", "--strip=1", "--fuzz=0", f"--directory={folder}", f"--input={PATCH}"])
    return folder / sources.SAMPLER


def link_with(recipe: Recipe, library: Path) -> None:
    """Link our worker to a package's libllama, in its folder. Raises InputError."""
    refuse(lacking(recipe))
    tree = sources.sources()
    with tempfile.TemporaryDirectory() as temporary:
        files = [_FOLDER / file for file in _WITH_LIBRARY]
        objects = [_compiled(recipe, file, tree, Path(temporary)) for file in files]
        _link(recipe, [*objects, library], library.parent)


def lacking(recipe: Recipe) -> dict[str, str]:
    """Return what a recipe needs and is not installed, and the Debian packages that have it."""
    programs = (recipe.compiler[0], recipe.c_compiler, *["patch"] * recipe.patched)
    lacks = {name: " ".join(recipe.packages) for name in programs if shutil.which(name) is None}
    if recipe.mathematics and not Path(recipe.mathematics).is_file():
        lacks[recipe.mathematics] = "musl-dev"
    return lacks


def refuse(lacks: dict[str, str]) -> None:
    """Raise InputError if anything is lacking; it names all of it."""
    if lacks:
        packages = " ".join(dict.fromkeys(" ".join(lacks.values()).split()))
        raise InputError(", ".join(lacks), "not installed", f"apt-get install {packages}")


def _mathematics(recipe: Recipe, folder: Path) -> list[Path]:
    if not recipe.mathematics:
        return []
    names = [f"{name}.lo" for name in _MATHEMATICS]
    _run(["ar", "x", "--output", str(folder), recipe.mathematics, *names])
    return [folder / name for name in names]


def _compiled(recipe: Recipe, file: Path, tree: Path, folder: Path) -> Path:
    target = folder / f"{file.stem}.o"
    includes = [f"-I{tree / folder_name}" for folder_name in ("include", "src", "ggml/include")]
    _run([*recipe.compiler, *_OPTIONS, *includes, "-c", str(file), "-o", str(target)])
    return target


def _link(recipe: Recipe, files: list[Path], folder: Path) -> None:
    target = folder / recipe.program
    _run([*recipe.compiler, *map(str, files), "-o", str(target), *recipe.link])


def _run(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if result.returncode:
        lines = result.stderr.strip().splitlines() or [f"exit status {result.returncode}"]
        error = next((line for line in lines if "error" in line), lines[-1])
        raise InputError(f"{command[0]} {Path(command[-1]).name}", error)


def check(names: Sequence[str]) -> None:
    """Raise InputError for a name without a recipe, and for all that the builds lack here."""
    lacks: dict[str, str] = {}
    for name in names:
        if name not in made():
            raise InputError(f"build {name!r}", "no recipe", f"use {', '.join(made())}")
        recipe = made()[name]
        lacks |= lacking(recipe) | runners.lacking(recipe.runner)
    refuse(lacks)


def make(name: str) -> Build:
    """Compile the samplers by a recipe, after `check`. Raises InputError."""
    recipe = made()[name]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        compile_alone(recipe, folder)
        build = _build(name, recipe, folder).model_copy(update={"recipe": name})
        register(build, folder)
    return build


def add_package(package: str, version: str, release: str, archive: Path, folder: Path) -> Build:
    """Register an unpacked package of another platform with a worker linked to its libllama.
    release: from its metadata. Raises InputError."""
    recipe = packages()[package]
    if not _called_as_newest(release):
        reason = f"the worker calls samplers as {NEWEST} takes them"
        raise InputError(f"{package}@{version}", f"is of {release}: {reason}")
    (library,) = folder.glob(f"*llama.{release}.*")
    link_with(recipe, library)
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


def _build(name: str, recipe: Recipe, folder: Path) -> Build:
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

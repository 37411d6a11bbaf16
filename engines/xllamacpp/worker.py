"""xllamacpp: the newest llama.cpp, as the package xllamacpp links it into its extension.

The extension exports llama.cpp's C interface; it is loaded as any libllama is, under the release
that the package's version names, and nothing of xllamacpp itself is imported.
"""

import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp import wheels, worker
from sampler_parity.harness.protocol.messages import HelloReply

PACKAGE = "xllamacpp"


class Worker(worker.Worker):
    def __init__(self) -> None:
        try:
            package = distribution(PACKAGE)
        except PackageNotFoundError:
            raise Unsupported(f"{PACKAGE} is not installed") from None
        extension = Path(str(package.locate_file(wheels.EXTENSIONS[PACKAGE])))
        self._folder = tempfile.TemporaryDirectory()  # as long as the process lives
        Path(self._folder.name, "libllama.so").symlink_to(extension)
        super().__init__(self._folder.name, wheels.release_of(PACKAGE, package.version))
        self._package = f"{PACKAGE} {package.version}"

    def hello(self) -> HelloReply:
        hello = super().hello()
        version = f"{hello.version} ({self._package})"
        return hello.model_copy(update={"name": PACKAGE, "version": version})

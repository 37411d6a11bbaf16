"""The compiler of the installed llama.cpp."""

import re

from sampler_parity.harness.llama_cpp.build_files import compiler_of, library_file
from sampler_parity.harness.llama_cpp.libllama import default_folder


def gcc_of(compiler: str) -> int:
    """Return the release of GCC in the text of compiler_of; 0 for another compiler."""
    gcc = re.match(r"GCC: \([^)]*\) (\d+)", compiler)
    return int(gcc[1]) if gcc else 0


def gcc_of_llama() -> int:
    return gcc_of(compiler_of(library_file(default_folder())))

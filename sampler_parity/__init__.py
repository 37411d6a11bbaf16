"""Verifies and times LLM token samplers: parity with llama.cpp to the bit, case by case.

The packages (`reference`, `harness`, `reports`, `programs` and so on) are folders at the root of
the repository. Here are links to them, so that a clone can be imported, and read by an editor,
without being installed. In an installed copy they are folders of this package.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]

"""tinygrad: the wheel lacks a package that its language models import.

sampler-parity engines exec tinygrad -- python studies/findings/finding_72_wheel.py
"""

import importlib
import sys


def main() -> int:
    got = "it is imported"
    try:
        importlib.import_module("tinygrad.llm.model")
    except ModuleNotFoundError as error:
        got = f"ModuleNotFoundError: {error}"
    print("import tinygrad.llm.model, as python -m tinygrad.llm does")
    print(f"  expected it is imported\n  got      {got}")
    return int(got != "it is imported")


if __name__ == "__main__":
    sys.exit(main())

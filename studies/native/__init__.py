"""llama.cpp's own code under our suites: the lines that they reach, and the faults that they catch.

    python -m studies.native.coverage   # make coverage
    python -m studies.native.mutants    # make native-mutants

docs/background/native-coverage.md explains both, docs/results/native-coverage.md has the figures.
"""

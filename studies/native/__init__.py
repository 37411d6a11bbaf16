"""llama.cpp's own code under our suites: what they reach of it, and which faults in it they catch.

    python -m studies.native.coverage   # make coverage
    python -m studies.native.mutants    # make native-mutants

docs/background/native-coverage.md explains both, docs/results/native-coverage.md has the figures.
"""

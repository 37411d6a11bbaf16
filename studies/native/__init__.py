"""llama.cpp's own code under our suites: what they reach of it, and which faults in it they catch.

    python -m studies.native.coverage   # make coverage
    python -m studies.native.mutants    # make native-mutants

docs/native-coverage.md and docs/native-mutants.md say what comes out.
"""

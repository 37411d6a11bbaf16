"""The smallest changes to llama.cpp v0.5.0 that fix findings of docs/findings.md, and what they
change.

    python -m studies.patches   # make patches

docs/findings/patches.md explains each patch, docs/results/patches.md has the figures.
"""

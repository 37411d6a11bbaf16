"""The statistics of the distribution tests: pure functions of counts and exact probabilities.

docs/background/statistics.md has the claims with their proofs or sources. Every p-value here that
decides anything is valid at any number of draws: none rests on a limit theorem.
"""

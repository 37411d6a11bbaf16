"""Judge results whatever their arithmetic: `--accept correct`.

A result is correct if some correctly rounded evaluation of the specification gives it. judges.py
has the judge of each sampler; harness/checks/stages/correct.py follows a run. Every bound is
derived in the docstring of the function that has it.

Sources: Higham, Accuracy and Stability of Numerical Algorithms (2002); for sums Jeannerod and Rump,
SIAM J. Matrix Anal. Appl. 34(2), 2013.
"""

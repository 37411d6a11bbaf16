"""Judge results whatever their arithmetic: `--accept correct`.

A result is correct if some correctly rounded evaluation of the specification gives it. follow.py
replays a run from the candidates that the backend itself left; judges.py has the judge of each
sampler. Every bound is derived in the docstring of the function that has it.

Sources: Higham, Accuracy and Stability of Numerical Algorithms (2002); for sums Jeannerod and Rump,
SIAM J. Matrix Anal. Appl. 34(2), 2013.
"""

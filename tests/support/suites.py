"""Suites of literals."""

SMALL = """
name = "small"
[[matrix]]
id = "many"
description = "top_k and dist over three families"
why = "a run long enough to be killed"
chain = [{ top_k = { k = "$k" } }, { dist = { seed = "$seed" } }]
vary = { k = [0, 1, 5, 40], seed = [1, 2, 3, 4, 5] }
families = ["normal", "ties", "masked"]
sizes = [128, 1000, 30000]
steps = 4
"""

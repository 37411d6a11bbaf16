"""The files of a run.

record a line of results.jsonl: harness/bundle/records.py, a model a kind
result a record of something that ran: a case, a timing, a cell, a prompt, a workload
artifact an array too large for a line: harness/bundle/artifacts.py info run.json: what was run,
with what, on what machine summary the counts of a bundle, as `run --json` writes them
"""

"""The power-law sampler's documentation: a name and its index contradict each other.

    python power_law_5_readings.py

`sum_excluding_oldest` is written as the sum of history[0] to history[queue_size - 2], and push_back
puts a draw at the end: those are all but the newest. Exit status 1 while the two differ.
"""

import sys

history = [0.9, 0.1, 0.2, 0.1]  # queue_size 4, the oldest first
without_oldest, as_indexed = sum(history[1:]), sum(history[: len(history) - 1])
print("history .9 .1 .2 .1, the oldest first: sum_excluding_oldest")
print(f"  expected {without_oldest:g} by its name\n  got      {as_indexed:g} by its index")
sys.exit(int(without_oldest != as_indexed))

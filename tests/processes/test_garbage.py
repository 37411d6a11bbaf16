"""harness/processes/garbage.py: objects of a start are not scanned for garbage; later ones are."""

import subprocess
import sys

CODE = """
import gc, weakref
from sampler_parity.harness.processes.garbage import collection_paused

class Cycle:
    def __init__(self):
        self.me = self

kept = Cycle()
with collection_paused():
    assert not gc.isenabled()
assert gc.isenabled()
first = gc.get_freeze_count()
assert first > 1000
assert not any(known is kept for known in gc.get_objects())
cycle = weakref.ref(Cycle())
with collection_paused():
    pass
assert 0 < gc.get_freeze_count() <= first
gc.collect()
assert cycle() is None
gc.disable()
with collection_paused():
    pass
assert not gc.isenabled()
"""


def test_what_a_process_starts_with_is_left_alone_once() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

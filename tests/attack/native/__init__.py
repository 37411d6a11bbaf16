"""The C and C++ that we ship, under sanitizers, without memory and on disks that fail: `python -m
tests.attack.native`."""

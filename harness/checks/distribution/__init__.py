"""Tests of draws: cells, the exact distribution, and the errors of the tests themselves."""

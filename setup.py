"""Packages: the five folders of this repository, in the namespace `sampler_parity`."""

from setuptools import find_packages, setup

FOLDERS = ("reference", "harness", "reports", "suites", "golden")

setup(
    packages=[
        f"sampler_parity.{name}"
        for name in find_packages(include=[f"{folder}*" for folder in FOLDERS])
    ]
)

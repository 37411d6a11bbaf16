"""Packages: the six folders of this repository, in the namespace `sampler_parity`."""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDERS = ("reference", "harness", "reports", "suites", "golden", "engines")


class WithoutTests(build_py):
    """Leave out the tests of the engines, which stand next to what they test."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if not module[1].startswith("test_")]


setup(
    cmdclass={"build_py": WithoutTests},
    packages=[
        f"sampler_parity.{name}"
        for name in find_packages(include=[f"{folder}*" for folder in FOLDERS])
    ],
)

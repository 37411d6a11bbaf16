"""Packages: `sampler_parity`, and the folders of this repository that are packages in it."""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDERS = (
    *("reference", "harness", "reports", "programs", "functions", "vectors", "maintenance"),
    *("suites", "golden", "engines"),
)


class WithoutTests(build_py):
    """Leave out the tests of the engines, which stand next to what they test; not the benchmarks,
    which pytest collects by their name."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        modules = super().find_package_modules(package, package_dir)
        tests = package.startswith("sampler_parity.engines")
        return [module for module in modules if not (tests and module[1].startswith("test_"))]


setup(
    cmdclass={"build_py": WithoutTests},
    package_dir={
        "sampler_parity": "sampler_parity",
        **{f"sampler_parity.{folder}": folder for folder in FOLDERS},
    },
    packages=[
        "sampler_parity",
        *(
            f"sampler_parity.{name}"
            for name in find_packages(include=[f"{folder}*" for folder in FOLDERS])
        ),
    ],
)

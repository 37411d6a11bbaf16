"""Every target of make is described, is no file, and `make help` lists those of the Makefile."""

import re
import subprocess

from tests.support.makefiles import MAKEFILES, ROOT, targets

MAKEFILE, SLOW = MAKEFILES


def printed(*arguments: str) -> list[str]:
    command = ["make", "--no-print-directory", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return done.stdout.splitlines()


def test_help_lists_each_target_of_the_makefile_and_names_the_other_file() -> None:
    *lines, last = printed("help")
    assert [line.split(maxsplit=2)[1:] for line in lines] == [
        [name, about] for name, about in targets(MAKEFILE).items()
    ]
    assert SLOW.relative_to(ROOT).as_posix() in last
    assert printed() == [*lines, last]


def test_every_target_has_a_description_and_is_phony() -> None:
    for path in MAKEFILES:
        found = targets(path)
        assert len(found) > 10
        assert [name for name, about in found.items() if not about] == []
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        (phony,) = re.findall(r"(?m)^\.PHONY:(.*)$", text)
        assert sorted(phony.split()) == sorted(found)

"""The files of faults: an error is a line with its place and the fix."""

from pathlib import Path

import pytest

from sampler_parity.harness import faults
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.catalogue import read_faults

FAULT = """
[[fault]]
name = "top_p/off"
fault = "It does nothing."
source = "bug zoo 1"
at = "top_k"
case = "top_p/half"
replace = "mass >= self.p"
with = "mass > self.p"
"""


def read(folder: Path, text: str) -> str:
    """Return the error message for a file."""
    (folder / "top_p.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        read_faults(folder / "top_p.toml")
    message = str(caught.value)
    assert message.startswith(f"{folder / 'top_p.toml'}: ")
    assert "\n" not in message
    return message.removeprefix(f"{folder / 'top_p.toml'}: ")


def test_a_row_has_what_a_fault_says_of_itself(tmp_path: Path) -> None:
    (tmp_path / "top_p.toml").write_text(FAULT)
    (fault,) = read_faults(tmp_path / "top_p.toml")
    assert (fault.name, fault.fault, fault.source) == ("top_p/off", "It does nothing.", "bug zoo 1")
    assert (fault.stage, fault.case, fault.of_order) == ("top_k", "top_p/half", False)
    assert fault.make(0.5).name == "top_p"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("with =", "wth =", ": wth: Extra inputs are not permitted - did you mean with?"),
        ('name = "top_p/off"', "", "fault 1 (without a name): name: Field required - add it"),
        ('fault = "It does nothing."', "", "fault 1 (top_p/off): fault: Field required - add it"),
        ('with = "mass > self.p"', "", "needs either `replace` and `with`, or `edits`"),
        ("[[fault]]", "[[fault]]\nedits = [['a', 'b']]", "needs either `replace` and `with`"),
        ("top_p/off", "top_p", "'top_p' must have the form SAMPLER/FAULT"),
        ("[[fault]]", "[fault]", "must have only [[fault]] tables - write each fault as one"),
        ("[[fault]]", "[[faults]]", "must have only [[fault]] tables - write each fault as one"),
        ('name = "top_p/off"', "name = top_p", "not TOML: "),
        ('"mass >= self.p"', "3", "fault 1 (top_p/off): replace: Input should be a valid string"),
    ],
    ids=[
        *("unknown key", "no name", "no fault", "no with", "both", "no fault's name"),
        *("a table", "another table", "no TOML", "a number"),
    ],
)  # fmt: skip
def test_a_malformed_file_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert FAULT.count(old) == 1
    assert message in read(tmp_path, FAULT.replace(old, new))


def test_a_name_that_stands_twice_is_refused() -> None:
    right = faults.MUTANTS["top_p/mass-in-half"]
    with pytest.raises(InputError, match="is the name of two faults - rename one"):
        faults.by_name([right, right])

"""The output of a program before it died, as interpreters really print it."""

import pytest

from sampler_parity.harness.sanitize.crash_output import LINES, error_line, last_lines
from tests.support.script_backend import backend, failure

NODE = """node:fs:573
  return binding.open(
                 ^

Error: ENOENT: no such file or directory, open '/no/such/file.bin'
    at Object.openSync (node:fs:573:18)
    at file:///tmp/[eval1]:1:25 {
  errno: -2,
  code: 'ENOENT',
  path: '/no/such/file.bin'
}

Node.js v20.20.2
"""
NODE_THROWS = """/tmp/a.js:1
throw new RangeError("Offset is outside the bounds of the DataView")
^

RangeError: Offset is outside the bounds of the DataView
    at [eval]:1:7

Node.js v20.20.2
"""
PYTHON = """Traceback (most recent call last):
  File "a.py", line 3, in <module>
    f()
    ~^^
KeyError: 'k'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 5, in <module>
    raise Trouble("no k\\nand no p")
mine.Trouble: no k
and no p
"""
RUST = """
thread 'main' (11907) panicked at src/main.rs:1:91:
index out of bounds: the len is 1 but the index is 5
stack backtrace:
   0: __rustc::rust_begin_unwind
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""
OLD_RUST = """thread 'main' panicked at 'no k', src/main.rs:2:5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
GO = """panic: runtime error: index out of range [5] with length 1

goroutine 1 [running]:
main.main()
        /tmp/a.go:6 +0x1d
exit status 2
"""
CPP = """terminate called after throwing an instance of 'std::out_of_range'
  what():  vector::_M_range_check: __n (which is 5) >= this->size() (which is 1)
"""


@pytest.mark.parametrize(
    ("printed", "error"),
    [
        (NODE, "Error: ENOENT: no such file or directory, open '/no/such/file.bin'"),
        (NODE_THROWS, "RangeError: Offset is outside the bounds of the DataView"),
        (PYTHON, "mine.Trouble: no k"),
        (
            RUST,
            "panicked at src/main.rs:1:91: index out of bounds: the len is 1 but the index is 5",
        ),
        (OLD_RUST, "panicked at 'no k', src/main.rs:2:5"),
        (GO, "panic: runtime error: index out of range [5] with length 1"),
        (CPP, "what():  vector::_M_range_check: __n (which is 5) >= this->size() (which is 1)"),
        ("GGML_ASSERT(n > 0) failed\nbacktrace\n", "GGML_ASSERT(n > 0) failed"),
        ("loading\ncannot go on\nNode.js v20.20.2\n", "cannot go on"),
        ("Node.js v20.20.2\n", ""),
        ("", ""),
    ],
    ids=["node", "node throws", "python", "rust", "old rust", "go", "c++", "assert", "no error",
         "version alone", "nothing"],
)  # fmt: skip
def test_the_line_with_the_error_is_found_in_what_an_interpreter_prints(
    printed: str, error: str
) -> None:
    assert error_line(last_lines(printed.encode())) == error


def test_a_crash_has_its_error_first_and_the_last_twenty_lines_behind_it() -> None:
    act = (
        "sys.stderr.write('\\n'.join(map(str, range(99))) + '\\nValueError: no k\\n'); sys.exit(3)"
    )
    with backend(act) as process:
        caught = failure(process)
    assert str(caught) == "exit status 3: ValueError: no k"
    first, *rest = caught.whole.splitlines()
    assert first == str(caught)
    assert rest == [*map(str, range(80, 99)), "ValueError: no k"]
    assert len(rest) == LINES


def test_a_script_that_is_not_there_is_named() -> None:
    with backend("") as process:
        process.command = ["sh", "-c", "exit 1", "no-such-adapter.js", "--level", "0.5"]
        caught = failure(process)
    assert str(caught) == "exit status 1: no-such-adapter.js is not there"

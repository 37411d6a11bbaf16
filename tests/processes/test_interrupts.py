"""Ctrl-C while pydantic builds or validates: not lost, not garbled; elsewhere at once."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel, GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema

from sampler_parity.harness.processes.interrupts import interrupts_delayed

_WAIT_S = 20


def interrupted(value: str) -> str:
    signal.raise_signal(signal.SIGINT)
    return value


class Interrupting:
    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        signal.raise_signal(signal.SIGINT)
        return handler(str)


class Text(BaseModel):
    text: Annotated[str, AfterValidator(interrupted)]


@pytest.fixture(autouse=True)
def _handled_by_default() -> Iterator[None]:
    """Restore the default even where a shell that runs pytest in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def then_wait(act: Callable[[], object]) -> None:
    """Act, then wait, and assert that an interrupt ends the wait."""
    began = time.monotonic()
    try:
        with interrupts_delayed():
            act()
            time.sleep(_WAIT_S)
    finally:
        assert time.monotonic() - began < _WAIT_S


def test_an_interrupt_within_a_validation_comes_when_it_has_ended() -> None:
    texts = []
    with pytest.raises(KeyboardInterrupt):
        then_wait(lambda: texts.append(Text(text="a")))
    assert texts[0].text == "a"


def test_an_interrupt_within_the_building_of_a_model_comes_when_it_is_built() -> None:
    built: list[TypeAdapter[str]] = []
    with pytest.raises(KeyboardInterrupt):
        then_wait(lambda: built.append(TypeAdapter(Annotated[str, Interrupting])))
    assert built[0].validate_python("b") == "b"


def test_elsewhere_an_interrupt_comes_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_delayed():
        signal.raise_signal(signal.SIGINT)


def test_who_ignores_interrupts_still_does() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_delayed():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_that_was_ignored_meanwhile_stays_so() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with interrupts_delayed():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_off_the_main_thread_nothing_changes() -> None:
    handlers = []

    def look() -> None:
        with interrupts_delayed():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]

"""A recording that Python writes is read again; a damaged one is refused with its place."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.recording.detail import Detail
from sampler_parity.programs.recording.events import Apply, Array, DrawnSeed, Event
from sampler_parity.programs.recording.format import Lists, bytes_of, lists_of, sum_of
from sampler_parity.programs.recording.reader import Gone, Process, Recording
from sampler_parity.programs.recording.segments import packed, unpacked
from sampler_parity.programs.recording.writer import RecordingWriter
from tests.support.recordings import LOGITS, write_recording


def events(folder: Path) -> list[Event]:
    return list(Recording(folder).processes[0].events())


def applies(folder: Path) -> list[Apply]:
    return [event for event in events(folder) if isinstance(event, Apply)]


@pytest.mark.parametrize("detail", ["survivors", "stages"])
def test_what_is_written_is_read_again(tmp_path: Path, detail: Detail) -> None:
    write_recording(tmp_path, detail)
    process = Recording(tmp_path).processes[0]
    assert process.start.detail == detail
    for apply in applies(tmp_path):
        assert np.array_equal(process.lists(apply.before).logits, LOGITS)
        after = process.lists(apply.after)
        assert np.array_equal(after.logits, LOGITS[after.ids])
        assert after.ids[0] == apply.token


def test_the_detail_tokens_has_no_arrays(tmp_path: Path) -> None:
    write_recording(tmp_path, "tokens")
    assert not list(tmp_path.glob("*.arrays"))
    with pytest.raises(Gone, match="not recorded"):
        Recording(tmp_path).processes[0].lists(applies(tmp_path)[0].before)


def test_the_drawn_seed_of_an_engine_has_64_bits(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, "a test")
    writer.event(DrawnSeed(s="0x1", seed=2**64 - 1))
    assert [event.seed for event in events(tmp_path) if isinstance(event, DrawnSeed)] == [2**64 - 1]


@pytest.mark.parametrize("cut", [1, 7, 300])
def test_a_torn_last_line_ends_the_recording(tmp_path: Path, cut: int) -> None:
    write_recording(tmp_path)
    whole = events(tmp_path)
    process = Recording(tmp_path).processes[0]
    process.path.write_bytes(process.path.read_bytes()[:-cut])
    read = list(process.events())
    assert read == whole[: len(read)]
    assert process.torn
    assert len(whole) - len(read) == (1 if cut < 60 else len(whole) - len(read))


@pytest.mark.slow
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_a_changed_bit_is_refused_with_its_place(
    tmp_path_factory: pytest.TempPathFactory, place: int, bit: int
) -> None:
    folder = tmp_path_factory.mktemp("recording")
    write_recording(folder, steps=1)
    files = [Recording(folder).processes[0].path, next(folder.glob("*.arrays"))]
    content = [bytearray(file.read_bytes()) for file in files]
    which = place % 2
    content[which][place % len(content[which])] ^= 1 << bit
    files[which].write_bytes(content[which])
    process = Process(folder, files[0].stem)
    sampled = set(range(applies_offset(process), 3000, 16))
    position = place % len(content[1]) // 4
    if which and position < 3000 and position not in sampled:
        return  # one logit in 16 of a long row is in the sum
    with pytest.raises(InputError, match=str(files[which])):
        read_all(process)


def read_all(process: Process) -> None:
    """Read all events and arrays. Raises InputError if one is damaged or torn."""
    read = list(process.events())
    if process.torn:
        raise InputError(process.path, "is torn")
    for event in read:
        if isinstance(event, Apply):
            process.lists(event.before)
            process.lists(event.after)


def applies_offset(process: Process) -> int:
    """Return the offset of the first sum; 0 if the line is damaged."""
    try:
        return next(e.before.offset for e in process.events() if isinstance(e, Apply))
    except InputError:
        return 0


@given(st.lists(st.integers(-5, 200_000), max_size=70), st.integers(1, 16), st.integers(0, 15))
def test_the_sum_is_that_of_its_definition(ids: list[int], stride: int, offset: int) -> None:
    tokens = np.array(ids, np.int32)
    logits = (tokens * 0.37).astype(np.float32)
    lanes, factor, word = [0] * 8, 6364136223846793005, 2**64
    for at, i in enumerate(range(offset, len(ids), stride)):
        value = (int(tokens[i]) % 2**32) << 32 | int(logits[i : i + 1].view(np.uint32)[0])
        lanes[at % 8] = (lanes[at % 8] * factor + value + 1) % word
    total = 0
    for lane in lanes:
        total = (total * factor + lane + 1) % word
    assert sum_of(tokens, logits, stride, offset) == f"{total:016x}"


@given(st.binary(max_size=200))
def test_packed_bytes_are_unpacked(content: bytes) -> None:
    assert unpacked(packed(content)) == content


def test_a_packed_segment_is_read_as_a_plain_one(tmp_path: Path) -> None:
    write_recording(tmp_path)
    before = [Recording(tmp_path).processes[0].lists(a.after) for a in applies(tmp_path)]
    for file in tmp_path.glob("*.arrays"):
        file.with_name(file.name + ".z").write_bytes(packed(file.read_bytes()))
        file.unlink()
    process = Recording(tmp_path).processes[0]
    for old, apply in zip(before, applies(tmp_path), strict=True):
        assert np.array_equal(old.logits, process.lists(apply.after).logits)
    for file in tmp_path.glob("*.z"):
        file.unlink()
    with pytest.raises(Gone, match="--keep"):
        Recording(tmp_path).processes[0].lists(applies(tmp_path)[0].after)


def test_an_array_of_another_sum_is_refused() -> None:
    lists = Lists(np.arange(3, dtype=np.int32), LOGITS[:3], LOGITS[:3])
    array = Array(n=3, form="full", at=(1, 0), sum="0" * 16)
    with pytest.raises(ValueError, match="sum"):
        lists_of(array, bytes_of(lists, "full"))

"""Recordings of programs: their events, and their compressed candidates."""

import zlib
from pathlib import Path

from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.replay import ReplayedProcess
from sampler_parity.programs.recording.segments import unpacked
from sampler_parity.reference.chronology import NEWEST
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import BINARY, JSON, value
from tests.support.recordings import sampled, write_recording

_PENALTIES = {"n_vocab": 3000, "penalty_last_n": 8, "penalty_repeat": 1.5}
_PENALTIES |= {"penalty_freq": 0.0, "penalty_present": 0.5}


def _events(folder: Path) -> list[bytes]:
    """Write a recording; return its lines without their digests."""
    writer = write_recording(folder / "r", steps=1)
    for event in (
        e.MadeChain(s="0x2"),
        e.Init(s="0x3", sampler="penalties", args=_PENALTIES),
        e.Init(s="0x4", sampler="dist", args={"seed": 4294967295}),
        e.DrawnSeed(s="0x4", seed=7),
        e.Add(c="0x2", s="0x3", name="penalties"),
        e.Add(c="0x2", s="0x4", name="dist"),
        e.Clone.model_validate({"from": "0x2", "s": "0x5"}),
        e.Copy.model_validate({"from": "0x2", "to": "0x5"}),
        e.Accept(s="0x5", token=7),
        e.Reset(s="0x2"),
        e.Remove(c="0x2", i=0, s="0x3"),
        e.Decode(ctx="0x9", tokens=[1, 2], pos=[0, 1], seq=[0, 0], out=[1]),
        e.Free(s="0x3"),
    ):
        writer.event(event)
    sampled(writer, 2, "0x5")
    (path,) = (folder / "r").glob("*.events")
    lines = path.read_bytes().splitlines()
    return [b"".join(line.rpartition(b',"#":')[0] + b"}\n" for line in lines)]


def _judged(path: Path) -> None:
    """Write the lines with their digests, and judge them."""
    chain, sealed = 0, b""
    for line in path.read_bytes().splitlines(keepends=True):
        text = line.rstrip(b"\n")[:-1]
        chain = zlib.crc32(text, chain)
        sealed += text + f',"#":"{chain:08x}"}}\n'.encode()
    (events,) = (path.parent / "r").glob("*.events")
    events.write_bytes(sealed)
    for process in Recording(events.parent).processes:
        list(ReplayedProcess(process, NEWEST).run())


def _segment(folder: Path) -> list[bytes]:
    write_recording(folder / "r", steps=1)
    (path,) = (folder / "r").glob("*.arrays")
    content = path.read_bytes()[:4000]
    return [len(content).to_bytes(8, "little") + zlib.compress(content)]


INPUTS = [
    Fuzzed("events of a recording", "changed", _events, _judged, (*JSON, *[value] * 8), 30),
    Fuzzed(
        "candidates of a recording",
        "changed",
        _segment,
        lambda path: unpacked(path.read_bytes()),
        BINARY,
        refusals=(ValueError,),
    ),
]

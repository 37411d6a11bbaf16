"""List the devices of a build that run here: a worker that asks each library of its folder.

It is a process of its own, so that a library that aborts or hangs ends nothing else.
"""

import ctypes
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.build_files import GPUS, device_files, needed_libraries
from sampler_parity.harness.llama_cpp.devices import Devices, lacking, score
from sampler_parity.harness.protocol.messages import Device, DevicesReply, HelloReply


class Worker:
    """folder: a libllama build. It loads nothing of it before the request."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def hello(self) -> HelloReply:
        return HelloReply(
            name="llama.cpp/devices", version="", capabilities=["devices"], samplers=[]
        )

    def devices(self) -> DevicesReply:
        """Return each device of the folder: whether it runs here, with a GPU's name or the
        reason."""
        libraries = [
            ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL) for path in needed_libraries(self.folder)
        ]
        devices = []
        for name, path in device_files(self.folder).items():
            try:
                about = _about(self.folder, libraries, name, path)
                devices.append(Device(name=name, runs=True, about=about))
            except InputError as error:
                devices.append(Device(name=name, runs=False, about=str(error.args[1])))
        return DevicesReply(devices=devices)


def _about(folder: Path, libraries: list[ctypes.CDLL], device: str, path: Path) -> str:
    """Return a GPU's name, "" for a CPU variant. Raises InputError if the device does not run
    here."""
    if device in GPUS:
        return Devices(folder, libraries, device).name_of_gpu()
    if score(path) == 0:
        raise InputError(path, lacking(device))
    return ""

"""Connections for tests/support/raw_server.py that do not end."""

import socket
import time

from tests.support.raw_server import Answering


def hangs(connection: socket.socket) -> None:
    while connection.recv(1 << 16):  # nothing, until the client goes
        pass


def drips(first: bytes, again: bytes) -> Answering:
    """Return a function that sends bytes forever, without a long pause."""

    def answering(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)
            time.sleep(0.002)

    return answering

"""What a connection of tests/support/raw_server.py does that does not end."""

import socket
import time

from tests.support.raw_server import Answering


def hangs(connection: socket.socket) -> None:
    while connection.recv(1 << 16):  # nothing, until the client goes
        pass


def drips(first: bytes, again: bytes) -> Answering:
    """No single wait is long."""

    def answering(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)
            time.sleep(0.002)

    return answering

"""Read the one address that a check talks to, as the user gave it."""

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sampler_parity.harness.errors import InputError

_EXAMPLE = "write it like http://127.0.0.1:8080"


@dataclass(frozen=True)
class Address:
    """The address of a server. base: prefix of every path. key: sent with each request, never
    printed."""

    scheme: str
    host: str
    port: int
    base: str = ""
    key: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.base}"


def address_of(url: str, key_variable: str = "", anywhere: bool = False) -> Address:
    """Read an address. key_variable: of the environment, with the key.

    anywhere: accept another machine's. Raises InputError if it is not an address, has a password in
    it, or is another machine's.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (ValueError, KeyError):
        raise InputError("the address", "is not the URL of a server", _EXAMPLE) from None
    if parts.username is not None or parts.password is not None:
        raise InputError("the address", "has a name or password in it", "use --key-from VARIABLE")
    if not parts.hostname or parts.query or parts.fragment or not _plain(parts.path):
        raise InputError("the address", "is not the URL of a server", _EXAMPLE)
    if not (anywhere or of_this_machine(parts.hostname)):
        fix = "use --remote if you may send it requests"
        raise InputError(parts.hostname, "is another machine", fix)
    return Address(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), _key(key_variable))


def _plain(path: str) -> bool:
    """Return whether a line of HTTP can hold a path."""
    return path.isascii() and path.isprintable() and " " not in path


def of_this_machine(host: str) -> bool:
    """Return whether a host is this machine, by its name alone: nothing is resolved."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "")
    if not key or not key.isascii() or not key.isprintable():
        raise InputError(
            f"variable {variable}",
            "has no key in printable ASCII",
            "set it, or leave out --key-from",
        )
    return key

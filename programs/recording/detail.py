"""What is recorded of each token; apart, because the command line reads it at its start."""

from typing import Literal

Detail = Literal["tokens", "survivors", "stages"]

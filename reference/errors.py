"""The errors of the reference. Both are ValueErrors: bad values, not faults of the program."""


class ChainError(ValueError):
    """A chain specification that cannot be built; the message names stage, parameter and rule."""


class UndefinedInputError(ValueError):
    """Input for which llama.cpp is undefined: it aborts, or reads or writes out of bounds."""

"""The errors of Spillway.

Each is an `Error`, and an exception of Python's own that means the same, so
`except ValueError` and `except MemoryError` work as well.
"""


class Error(Exception):
    """The base of all errors of this package."""


class InvalidArgument(Error, ValueError):
    """An argument, a file or a graph is wrong; the message names what."""


class OutOfBudget(Error, MemoryError):
    """A step does not fit its memory; nothing was allocated.

    Attributes, bytes of device memory, or None where they are not known:
        needed_bytes: the smallest budget that was found to fit.
        budget_bytes: the budget that was given.
        missing_bytes: the difference of the two.
        floor_bytes: the largest working set of one node; no choice of swaps and
            recomputation needs less.
        floor_node: the name of that node, or "".
    """

    needed_bytes = None
    budget_bytes = None
    missing_bytes = None
    floor_bytes = None
    floor_node = None


class NotFound(Error, LookupError):
    """A tensor, variable or file does not exist."""


class FailedPrecondition(Error, RuntimeError):
    """The object cannot do this now; the message says what has to come first."""


class Unimplemented(Error, NotImplementedError):
    """There is no kernel, or no such operator, for this."""


class Unavailable(Error, RuntimeError):
    """A device, or a part of this build, is not there."""


class Cancelled(Error):
    """The work was interrupted before it had a result."""


class Internal(Error, RuntimeError):
    """A bug in Spillway, or a fault of the device."""


_BY_CODE = {
    "INVALID_ARGUMENT": InvalidArgument,
    "OUT_OF_RANGE": InvalidArgument,
    "RESOURCE_EXHAUSTED": OutOfBudget,
    "NOT_FOUND": NotFound,
    "FAILED_PRECONDITION": FailedPrecondition,
    "UNIMPLEMENTED": Unimplemented,
    "UNAVAILABLE": Unavailable,
    "CANCELLED": Cancelled,
    "INTERNAL": Internal,
}


def exception_for(code, message, shortage):
    """The exception for a status: `shortage` has the attributes of OutOfBudget."""
    exception = _BY_CODE.get(code, Error)(message)
    for name, value in shortage.items():
        setattr(exception, name, value)
    return exception

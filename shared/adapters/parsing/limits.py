"""How much one document may ask for, and how a process is held to it."""

import resource
import signal
import sys
from dataclasses import dataclass
from typing import Final

OUT_OF_TIME: Final = "This document takes longer to read than it may."
OUT_OF_MEMORY: Final = "This document takes more memory to read than there is."
TOO_MUCH_TEXT: Final = "This document has more text than can be read."

_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """How much one document may ask for.

    Parameters
    ----------
    max_bytes : int
        Of the file.
    max_pages : int
        Pages, slides or sheets.
    max_unpacked_bytes : int
        Of everything in an archive, as its directory says; the reader has limits of its own on what it really unpacks.
    max_result_bytes : int
        Of what the child gives back.
    cpu_seconds : int
        Of the child, for all pages together.
    seconds : float
        By the clock, for a child that waits.
    memory_bytes : int
        Address space of the child.
    scan_dpi : int
        How finely a page is drawn for OCR, when it cannot be sent as it is.
    max_scan_pixels : int
        Where a page is drawn more coarsely than that: one of 14,400 points would take 2.7 GB.
    max_scan_bytes : int
        Of one page for OCR.
    """

    max_bytes: int = 50 * _MIB
    max_pages: int = 2_000
    max_unpacked_bytes: int = 512 * _MIB
    max_result_bytes: int = 64 * _MIB
    cpu_seconds: int = 60
    seconds: float = 90.0
    memory_bytes: int = 1024 * _MIB
    scan_dpi: int = 200
    max_scan_pixels: int = 10_000_000
    max_scan_bytes: int = 10_000_000


DEFAULT_LIMITS: Final = ParseLimits()


def confine(limits: ParseLimits) -> None:
    """Hold this process to the limits; the kernel ends it where it goes over them."""
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds)
    _lower(resource.RLIMIT_FSIZE, limits.max_result_bytes)
    # Python ignores it, and the process would go on as one whose disk is full.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, 64)
    # macOS takes this limit for one it cannot set; there the clock is what ends a child that eats memory.
    if sys.platform != "darwin":
        _lower(resource.RLIMIT_AS, limits.memory_bytes)


def _lower(kind: int, limit: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    limit = limit if ceiling == resource.RLIM_INFINITY else min(limit, ceiling)
    resource.setrlimit(kind, (limit, limit))

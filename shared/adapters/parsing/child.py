"""The process that reads one file: ``python -m shared.adapters.parsing.child REQUEST``.

The file comes in by standard input, frames go out by standard output. Nothing else is written anywhere.
"""

import os
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

from shared.adapters.parsing.file_types import kind_of
from shared.adapters.parsing.frames import Done, Frame, write_frame
from shared.adapters.parsing.limits import OUT_OF_MEMORY, confine
from shared.adapters.parsing.reading import read
from shared.adapters.parsing.request import Request
from shared.domain.kb.failures import (
    CorruptDocumentError,
    DocumentError,
    DocumentTooLargeError,
    EmptyDocumentError,
    IngestionFailedError,
)


def answer(request: Request, data: bytes) -> Iterator[Frame]:
    """Do what is asked for; whatever goes wrong is the last frame.

    Parameters
    ----------
    request : Request
        What to do.
    data : bytes
        The file.
    """
    try:
        if not data:
            raise EmptyDocumentError("This file is empty.")
        if request.scans:
            from shared.adapters.parsing.page_scans import page_scans

            kind = kind_of(data, request.name, max_unpacked_bytes=request.limits.max_unpacked_bytes)
            yield from page_scans(data, kind, request.scans, request.limits)
        else:
            yield from read(data, request.name, request.limits)
    except DocumentError as error:
        yield error
    except MemoryError:
        yield DocumentTooLargeError(OUT_OF_MEMORY)
    except RecursionError:
        yield CorruptDocumentError("This document is nested more deeply than can be read.")
    except BaseException as error:  # noqa: BLE001 - a panic in Rust derives from no narrower class
        sys.stderr.write(f"{type(error).__name__}\n")
        yield IngestionFailedError()
    else:
        yield Done(time.process_time())


def main() -> None:
    """Read the file, within the limits."""
    request = Request.from_argument(sys.argv[1])
    confine(request.limits)
    data = sys.stdin.buffer.read()
    with _frames_only() as output:
        for frame in answer(request, data):
            write_frame(output, frame)


def _frames_only() -> BinaryIO:
    """Take standard output for frames; what a parser prints goes to standard error."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return output


if __name__ == "__main__":
    main()

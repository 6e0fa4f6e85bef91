"""What the child process is asked to do."""

import json
from dataclasses import asdict, dataclass
from typing import Final

from shared.adapters.parsing.limits import ParseLimits

CHILD: Final = "shared.adapters.parsing.child"
"""The module that answers; named, so that asking does not import the parsers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the child is to do.

    Parameters
    ----------
    name : str
        What the file is called, as far as that says what kind of text it is.
    limits : ParseLimits
        What it may take.
    scans : tuple of int
        The pages to give for OCR; with none, the file is read.
    """

    name: str
    limits: ParseLimits
    scans: tuple[int, ...] = ()

    def as_argument(self) -> str:
        """Give the text that :meth:`from_argument` reads back."""
        return json.dumps(asdict(self))

    @classmethod
    def from_argument(cls, argument: str) -> "Request":
        """Read a request."""
        fields = json.loads(argument)
        return cls(name=fields["name"], limits=ParseLimits(**fields["limits"]), scans=tuple(fields["scans"]))

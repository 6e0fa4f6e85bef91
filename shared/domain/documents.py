"""A document's identity and the order of the events that speak of it."""

import json
import re
from typing import Final
from uuid import UUID, uuid5

from shared.domain.errors import InvalidInputError
from shared.domain.ids import DocumentId, UserId

_DOCUMENTS: Final = UUID("5d1b4e0a-7d0e-4c53-9a55-3f0e6a1f2b7c")

_SEQUENCER_WIDTH: Final = 64
_SEQUENCER = re.compile(rf"[0-9A-F]{{1,{_SEQUENCER_WIDTH}}}")


def document_id_for(user: UserId, key: str) -> DocumentId:
    """Derive the id of the document behind an object, so that every delivery of its events names the same one.

    Parameters
    ----------
    user : str
        Whose document it is.
    key : str
        The object's key, as it is (not URL-encoded).
    """
    # JSON keeps the two apart whatever they hold.
    return DocumentId(f"d-{uuid5(_DOCUMENTS, json.dumps([user, key]))}")


def sequencer_order(sequencer: str) -> str:
    """Give a text whose order is the order of one object's S3 events.

    S3 numbers them in hexadecimal of varying length, to be compared after padding with zeros on the right.

    Raises
    ------
    InvalidInputError
        When it is no sequencer.
    """
    digits = sequencer.upper()
    if not _SEQUENCER.fullmatch(digits):
        raise InvalidInputError("A sequencer is a hexadecimal number.")
    return digits.ljust(_SEQUENCER_WIDTH, "0")

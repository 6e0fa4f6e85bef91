"""Files in messages: as a client sends them, as they wait to be read, and as they stay in the thread.

A part with bytes becomes one that names the document of these bytes (``file_id``) before anything is stored. Once the
document has been waited for, the part gets a sibling ``kb_ref`` and its name begins with ``[kb:<document>]``; what has
both is done (rows KB16 and KB17).
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from shared.domain.errors import InvalidIdError
from shared.domain.ids import DocumentId, parse_document_id

if TYPE_CHECKING:
    # As in ``shared.ports``.
    from langchain_core.messages import AnyMessage

FILE: Final = "file"
KB_REF: Final = "kb_ref"

Part: TypeAlias = "str | dict[str, Any]"

# Of a name that is only told.
_NAME_CHARS: Final = 100

_PREFIX: Final = re.compile(r"\[kb:[\w-]{1,100}\]\s*")


def bytes_part(name: str, media_type: str, data: str) -> dict[str, Any]:
    """Give a file as it is read from a request; ``data`` is base64."""
    return {"type": FILE, "filename": name, "mime_type": media_type, "base64": data}


def waiting_part(document: DocumentId, name: str, media_type: str, attachment: str) -> dict[str, Any]:
    """Give a file whose bytes are stored and whose document was not yet waited for."""
    return {"type": FILE, "file_id": document, "filename": name, "mime_type": media_type, "attachment_id": attachment}


def unstored_part(name: str, reason: str) -> dict[str, Any]:
    """Give what stands for a file that was not taken in. What nobody sees of its name is left out, and what is long."""
    seen = "".join(each for each in name[:_NAME_CHARS] if each.isprintable())
    return {"type": "text", "text": f"[The file “{seen}” was not taken in: {reason}]"}


def has_bytes(part: object) -> bool:
    """Say whether a part is a file with its bytes."""
    return _is(FILE, part) and isinstance(cast("dict[str, Any]", part).get("base64"), str)


def waited_for(part: object, marked: frozenset[DocumentId]) -> DocumentId | None:
    """Give the document that a part waits for; ``None`` when it is no file or was handled.

    Parameters
    ----------
    part : object
        A part of a message.
    marked : frozenset of str
        The documents that the message's marks name. A file may be called as if it were marked.
    """
    if not _is(FILE, part):
        return None
    fields = cast("dict[str, Any]", part)
    document = document_or_none(fields.get("file_id"))
    return None if document in marked and _PREFIX.match(str(fields.get("filename", ""))) else document


def referred_to(part: object) -> DocumentId | None:
    """Give the document that a ``kb_ref`` part names; whose it is, is for the reader of the id to find out."""
    return document_or_none(cast("dict[str, Any]", part).get("docId")) if _is(KB_REF, part) else None


def marked_in(message: "AnyMessage") -> frozenset[DocumentId]:
    """Give the documents that the ``kb_ref`` parts of a message name."""
    return frozenset(document for part in parts_of(message) if (document := referred_to(part)) is not None)


def is_file(part: object) -> bool:
    """Say whether a part is a file, in the product's own shape."""
    return _is(FILE, part)


def names_document(part: object) -> bool:
    """Say whether a part is a file whose document is known: it is not sent, its text is."""
    return _is(FILE, part) and document_or_none(cast("dict[str, Any]", part).get("file_id")) is not None


def marked(part: Mapping[str, Any], document: DocumentId) -> list[Part]:
    """Give a file with its marker; doing it again changes nothing (row KB16)."""
    name = plain_name(str(part.get("filename", "")))
    kept = {key: value for key, value in part.items() if key in ("type", "file_id", "mime_type")}
    return [
        {**kept, "filename": f"[kb:{document}] {name}"},
        {"type": KB_REF, "docId": document, "attachmentId": str(part.get("attachment_id", ""))},
    ]


def plain_name(filename: str) -> str:
    """Give the name without what marks it."""
    return _PREFIX.sub("", filename).strip()


def parts_of(message: "AnyMessage") -> Sequence[Part]:
    """Give the parts of what a person said; empty for a plain text and for other messages."""
    return message.content if message.type == "human" and isinstance(message.content, list) else ()


def waits(messages: "Iterable[AnyMessage]") -> bool:
    """Say whether some file of a thread was not handled."""
    return any(
        next(documents_in([message]), None) is not None or any(map(has_bytes, parts_of(message)))
        for message in messages
    )


def with_parts(message: "AnyMessage", change: Callable[[Part], Iterable[Part]]) -> "AnyMessage":
    """Give a message, under its id, with each part replaced by others; the same one when nothing changes."""
    before = parts_of(message)
    after = [new for part in before for new in change(part)]
    return message if after == list(before) else message.model_copy(update={"content": after})


def documents_in(messages: "Iterable[AnyMessage]") -> Iterator[DocumentId]:
    """Give the documents whose files wait."""
    for message in messages:
        marked = marked_in(message)
        for part in parts_of(message):
            if (document := waited_for(part, marked)) is not None:
                yield document


def document_or_none(value: object) -> DocumentId | None:
    """Read a document's id defensively."""
    try:
        return parse_document_id(value) if isinstance(value, str) else None
    except InvalidIdError:
        return None


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """What a file in a message is known by.

    Parameters
    ----------
    sha256 : str
        Of its bytes; empty where only the document is known.
    document : str or None
        Its document; ``None`` where only the bytes are known.
    """

    sha256: str
    document: DocumentId | None

    def may_be(self, other: "FileIdentity") -> bool:
        """Say whether both may be one file: by their bytes where both know these, else by their documents."""
        if self.sha256 and other.sha256:
            return self.sha256 == other.sha256
        return None in (self.document, other.document) or self.document == other.document


def files_in(content: object) -> Sequence[FileIdentity]:
    """Give the files of a message's content, each once: as it came, as it waits, or as it is marked.

    Parameters
    ----------
    content : object
        A text, which has none, or parts.
    """
    parts = cast("list[object]", content) if isinstance(content, list) else []
    marked = {document for part in parts if (document := referred_to(part)) is not None}
    return [
        FileIdentity(_sha256_of(cast("dict[str, Any]", part)), document)
        for part in parts
        if (document := _document_of(part)) is not None or has_bytes(part)
        if not (is_file(part) and document in marked)
    ]


def _document_of(part: object) -> DocumentId | None:
    return referred_to(part) or (
        document_or_none(cast("dict[str, Any]", part).get("file_id")) if is_file(part) else None
    )


def _sha256_of(part: Mapping[str, Any]) -> str:
    known = part.get("attachmentId") or part.get("attachment_id")
    if isinstance(known, str):
        return known
    try:
        return hashlib.sha256(base64.b64decode(part["base64"], validate=True)).hexdigest() if has_bytes(part) else ""
    except ValueError:
        return ""


def _is(kind: str, part: object) -> bool:
    return isinstance(part, dict) and cast("dict[str, Any]", part).get("type") == kind

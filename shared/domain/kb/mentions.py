"""Documents and folders that a message names: ``:kb-document[label]{documentId=…}`` (row KB25).

The client writes a mention when its user picks one from a list. It is still text that anybody can type: whether
the thing exists, and whose it is, is for the reader of the ids to find out.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from shared.domain.errors import InvalidIdError
from shared.domain.ids import DocumentId, parse_document_id
from shared.domain.kb.folders import FolderId, folder_id_or_none

# A label may hold escaped brackets; neither part goes over a line.
_MENTION: Final = re.compile(
    r":kb-(?P<kind>document|folder)"
    r"\[(?P<label>(?:\\.|[^\]\\\n]){0,300})\]"
    r"\{\s*(?P<attribute>documentId|folderId)\s*=\s*(?P<quote>[\"']?)(?P<id>[\w:.-]{1,128})(?P=quote)\s*\}"
)
_ESCAPED: Final = re.compile(r"\\(.)")
_ATTRIBUTE_OF: Final = {"document": "documentId", "folder": "folderId"}


@dataclass(frozen=True, slots=True)
class Mention:
    """One document or folder that a text names.

    Parameters
    ----------
    kind : {'document', 'folder'}
        What is named.
    id : str
        Well-formed; whether there is such a thing is not said.
    label : str
        How the client showed it.
    """

    kind: Literal["document", "folder"]
    id: str
    label: str


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a text names, each once, in the order in which it is first named.

    Parameters
    ----------
    documents : tuple of str
        Ids of documents.
    folders : tuple of str
        Ids of folders.
    """

    documents: tuple[DocumentId, ...] = ()
    folders: tuple[FolderId, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.documents or self.folders)


def mentions_in(text: str) -> Mentions:
    """Find the mentions of a text; what is not well-formed is text like any other."""
    found = [mention for match in _MENTION.finditer(text) if (mention := _read(match)) is not None]
    return Mentions(
        documents=tuple(dict.fromkeys(DocumentId(each.id) for each in found if each.kind == "document")),
        folders=tuple(dict.fromkeys(FolderId(each.id) for each in found if each.kind == "folder")),
    )


def readable(text: str) -> str:
    """Give the text as a person reads it: each mention replaced by its label in quotation marks.

    Good for what is searched for and for titles; ids in them are noise.
    """
    return _MENTION.sub(lambda match: match[0] if (mention := _read(match)) is None else f"“{mention.label}”", text)


def _read(match: re.Match[str]) -> Mention | None:
    kind: Literal["document", "folder"] = "document" if match["kind"] == "document" else "folder"
    if _ATTRIBUTE_OF[kind] != match["attribute"]:
        return None
    label = _ESCAPED.sub(r"\1", match["label"])
    if kind == "folder":
        folder = folder_id_or_none(match["id"].lower())
        return None if folder is None else Mention(kind, folder, label)
    try:
        return Mention(kind, parse_document_id(match["id"]), label)
    except InvalidIdError:
        return None

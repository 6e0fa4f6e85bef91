"""A presentation, slide by slide.

The reader gives a presentation as one text and does not say where a slide ends. So it is given the slides one at a
time: the same package without pictures, whose list of slides has one entry.
"""

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from posixpath import normpath
from typing import Final

_PRESENTATION: Final = "ppt/presentation.xml"
_RELATIONSHIPS: Final = "ppt/_rels/presentation.xml.rels"

_LIST: Final = re.compile(rb"<(?P<prefix>\w+:)?sldIdLst\b[^>]*>(?P<entries>.*?)</(?P=prefix)?sldIdLst>", re.DOTALL)
_ROOT: Final = re.compile(rb"<(?:\w+:)?presentation\b")
_ENTRY: Final = re.compile(rb"<(?:\w+:)?sldId\b[^>]*?(?:/>|>.*?</(?:\w+:)?sldId>)", re.DOTALL)
_REFERENCE: Final = re.compile(rb"""\b\w+:id\s*=\s*["'](?P<id>[^"']+)""")
_RELATIONSHIP: Final = re.compile(rb"<(?:\w+:)?Relationship\b[^>]*>")
_ATTRIBUTE: Final = re.compile(rb"""\b(?P<name>Id|Target)\s*=\s*["'](?P<value>[^"']*)""")

_MOST_COPIED: Final = 256 * 1024 * 1024


def single_slides(data: bytes) -> Iterator[bytes] | None:
    """Give each slide of a presentation as a presentation of its own, in order.

    Parameters
    ----------
    data : bytes
        A presentation that :func:`shared.adapters.parsing.archives.check_archive` let pass.

    Returns
    -------
    iterator of bytes or None
        Packages, made as they are asked for. ``None`` when the slides cannot be told apart, be it because the package
        is made in an unusual way or because taking it apart would cost too much.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        # Pictures and sounds are no text, and most of the bytes.
        names = [name for name in archive.namelist() if name.endswith((".xml", ".rels"))]
        if _PRESENTATION not in names or _RELATIONSHIPS not in names:
            return None
        parts = {name: archive.read(name) for name in names}
    presentation = parts[_PRESENTATION]
    slide_list = _LIST.search(presentation)
    if slide_list is None:
        return iter(()) if _ROOT.search(presentation) and not _ENTRY.search(presentation) else None
    targets = _targets(parts[_RELATIONSHIPS])
    entries = _ENTRY.findall(slide_list["entries"])
    slides = [targets.get(reference["id"], "") if (reference := _REFERENCE.search(entry)) else "" for entry in entries]
    every_slide = {_relationships_of(slide) for slide in slides} | set(slides)
    common = {name: part for name, part in parts.items() if name not in every_slide}
    if not all(slide in parts for slide in slides) or len(slides) * sum(map(len, common.values())) > _MOST_COPIED:
        return None

    def package(entry: bytes, slide: str) -> bytes:
        start, end = slide_list.span("entries")
        own = {name: parts[name] for name in (slide, _relationships_of(slide)) if name in parts}
        return _packed(common | own | {_PRESENTATION: presentation[:start] + entry + presentation[end:]})

    return map(package, entries, slides)


def _targets(relationships: bytes) -> dict[bytes, str]:
    targets: dict[bytes, str] = {}
    for relationship in _RELATIONSHIP.findall(relationships):
        found = {match["name"]: match["value"] for match in _ATTRIBUTE.finditer(relationship)}
        target = found.get(b"Target", b"").decode(errors="replace")
        targets[found.get(b"Id", b"")] = normpath(target.lstrip("/") if target.startswith("/") else f"ppt/{target}")
    return targets


def _relationships_of(part: str) -> str:
    folder, _, name = part.rpartition("/")
    return f"{folder}/_rels/{name}.rels"


def _packed(parts: dict[str, bytes]) -> bytes:
    package = BytesIO()
    with zipfile.ZipFile(package, "w", zipfile.ZIP_STORED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return package.getvalue()

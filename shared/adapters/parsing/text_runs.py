"""The words of an Office package, whatever they are part of.

The reader passes over what is not in the main text (the boxes of a diagram, words with their pronunciation above). Of a
file that has nothing else, that would be all there is.
"""

import html
import re
import zipfile
from io import BytesIO
from typing import Final

from shared.adapters.parsing.archives import DAMAGE

_PARTS: Final = re.compile(r"(?:word|ppt|xl)/(?:document|(?:diagrams/data|drawings/drawing|charts/chart)\d*)\.xml")
_PARAGRAPH_END: Final = "</(?:w|a):p>"
_RUN: Final = re.compile(rf"<(?:w|a):t\b[^>]*>(?P<words>[^<]*)<|(?P<end>{_PARAGRAPH_END})")
_LARGEST_PART: Final = 32 * 1024 * 1024


def text_runs(data: bytes) -> str:
    """Give the words of an Office package, a line for each paragraph; empty for any other file."""
    lines: list[str] = []
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for part in archive.infolist():
                if _PARTS.fullmatch(part.filename) and part.file_size <= _LARGEST_PART:
                    lines += _paragraphs(archive.read(part).decode(errors="replace"))
    except DAMAGE:
        return ""
    return "\n\n".join(lines)


def _paragraphs(xml: str) -> list[str]:
    runs = ("\n" if run["end"] else html.unescape(run["words"]) for run in _RUN.finditer(xml))
    return [line.strip() for line in "".join(runs).split("\n") if line.strip()]

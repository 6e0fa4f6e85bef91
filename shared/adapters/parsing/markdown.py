"""What the parsers' Markdown holds that nobody would look for."""

import re
from typing import Final

_EMPTY_ROW: Final = re.compile(r"^\|(?:[ \t]*\|)+[ \t]*\n(?!\|[ \t]*:?-)", re.MULTILINE)
_UNDERLINE: Final = re.compile(r"</?u>")
_PICTURE: Final = re.compile(r"!\[(?P<alt>[^\]\n]*)\]\([^)\n]*\)")
_LINK_WITHIN: Final = re.compile(r"\[(?P<text>[^\]\n]*)\]\((?![a-z][a-z0-9+.-]*:)[^)\n]*\)", re.IGNORECASE)


def without_empty_rows(markdown: str) -> str:
    """Drop the rows of tables that have no cell filled; sheets have them for looks."""
    return _EMPTY_ROW.sub("", markdown)


def without_underlines(markdown: str) -> str:
    """Drop the tags for what Markdown has no mark for."""
    return _UNDERLINE.sub("", markdown)


def without_addresses(markdown: str) -> str:
    """Leave of a picture what it is called, and of a link its text, where it leads only about its own site."""
    return _LINK_WITHIN.sub(lambda link: link["text"], _PICTURE.sub(lambda picture: picture["alt"], markdown))

"""HTML, as a reader sees it: without scripts, menus and footers."""

import html
import re
from typing import Final

from html_to_markdown import ConversionError, ConversionOptions, InlineDataMedia, convert

from shared.adapters.parsing.markdown import without_addresses
from shared.adapters.parsing.text_files import require_text_of
from shared.domain.kb.failures import CorruptDocumentError
from shared.domain.kb.pages import Page

_OPTIONS: Final = ConversionOptions(
    extract_metadata=False,
    compact_tables=True,
    inline_data_media=InlineDataMedia.ALT_TEXT_ONLY,
    exclude_selectors=["script", "style", "noscript", "template", "nav", "footer", "svg", "iframe"],
)
_TITLE: Final = re.compile(r"<title[^>]*>(?P<title>[^<]{1,500})</title>", re.IGNORECASE)
_TOP_HEADING: Final = re.compile(r"^# ", re.MULTILINE)


def read_html(data: bytes) -> Page:
    """Give a web page, which is one page; under its title when it has no heading of the first level."""
    source = require_text_of(data)
    try:
        body = without_addresses(convert(source, _OPTIONS).content or "")
    except ConversionError as error:
        raise CorruptDocumentError from error
    title = _TITLE.search(source)
    if title and body.strip() and not _TOP_HEADING.search(body):
        body = f"# {' '.join(html.unescape(title['title']).split())}\n\n{body}"
    return Page.read(1, body)

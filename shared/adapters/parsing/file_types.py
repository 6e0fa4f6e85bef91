"""What a file is, by its bytes.

What it is called and what the uploader said it is are not believed; a name's ending only tells apart the kinds of text,
which have no signature.
"""

import re
from pathlib import PurePosixPath
from typing import Final

from shared.adapters.parsing.archives import check_archive
from shared.adapters.parsing.charsets import text_of
from shared.domain.kb.failures import CorruptDocumentError, EncryptedDocumentError, UnsupportedDocumentError
from shared.domain.kb.parsed import DocumentKind

_PICTURES: Final = (
    (b"\xff\xd8\xff", DocumentKind.JPEG),
    (b"\x89PNG\r\n\x1a\n", DocumentKind.PNG),
    (b"II*\x00", DocumentKind.TIFF),
    (b"MM\x00*", DocumentKind.TIFF),
)
_OTHER_PICTURES: Final = re.compile(rb"GIF8|RIFF....WEBP|BM.{4}\x00{4}|....ftyp(?:heic|heix|mif1|avif)", re.DOTALL)
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_OFFICE: Final = "EncryptedPackage".encode("utf-16-le")
_PDF_WITHIN: Final = 1024

_HTML: Final = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_HTML_WITHIN: Final = 4096
_BY_ENDING: Final = {
    ".csv": DocumentKind.CSV,
    ".tsv": DocumentKind.CSV,
    ".tab": DocumentKind.CSV,
    ".md": DocumentKind.MARKDOWN,
    ".markdown": DocumentKind.MARKDOWN,
    ".htm": DocumentKind.HTML,
    ".html": DocumentKind.HTML,
    ".xhtml": DocumentKind.HTML,
}

_UNSUPPORTED_PICTURE: Final = "This type of picture cannot be read. JPEG, PNG, TIFF and PDF can."


def kind_of(data: bytes, name: str, *, max_unpacked_bytes: int) -> DocumentKind:
    """Say what a file is.

    Parameters
    ----------
    data : bytes
        The file; not empty.
    name : str
        What it is called.
    max_unpacked_bytes : int
        For archives, see :func:`shared.adapters.parsing.archives.check_archive`.

    Raises
    ------
    UnsupportedDocumentError
        When it is nothing that can be read.
    EncryptedDocumentError, CorruptDocumentError, DocumentTooLargeError
        When that shows at once.
    """
    if data.startswith(_ZIP):
        check_archive(data, max_unpacked_bytes=max_unpacked_bytes)
        return _office_kind(data)
    if data.startswith(_OLE):
        if _ENCRYPTED_OFFICE in data:
            raise EncryptedDocumentError
        return _office_kind(data)
    if data.startswith(b"{\\rtf"):
        return DocumentKind.RTF
    if b"%PDF-" in data[:_PDF_WITHIN]:
        return DocumentKind.PDF
    for signature, kind in _PICTURES:
        if data.startswith(signature):
            return kind
    if _OTHER_PICTURES.match(data):
        raise UnsupportedDocumentError(_UNSUPPORTED_PICTURE)
    return _text_kind(data, name)


def _office_kind(data: bytes) -> DocumentKind:
    import anydoc  # takes longer to load than most texts to read

    kind = anydoc.format_from_bytes(data)
    if kind is not None:
        return DocumentKind(kind)
    if data.startswith(_OLE) and len(data) % 512:
        # These files are made of whole sectors.
        raise CorruptDocumentError
    raise UnsupportedDocumentError("This archive is not a document that can be read.")


def _text_kind(data: bytes, name: str) -> DocumentKind:
    text = text_of(data)
    if text is None:
        raise UnsupportedDocumentError
    if _HTML.match(text[:_HTML_WITHIN]):
        return DocumentKind.HTML
    return _BY_ENDING.get(PurePosixPath(name.lower()).suffix, DocumentKind.TEXT)

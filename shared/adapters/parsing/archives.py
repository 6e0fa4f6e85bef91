"""Archives, looked at before anything in them is unpacked."""

import zipfile
import zlib
from io import BytesIO
from typing import Final

from shared.domain.kb.failures import CorruptDocumentError, DocumentTooLargeError, EncryptedDocumentError

DAMAGE: Final = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, NotImplementedError, ValueError)
"""What reading a damaged archive raises."""

_ENCRYPTED_FLAG: Final = 0x1
_MANIFEST: Final = "META-INF/manifest.xml"
_LARGEST_MANIFEST: Final = 4 * 1024 * 1024
_ENCRYPTED_PARTS: Final = b":encryption-data"


def check_archive(data: bytes, *, max_unpacked_bytes: int) -> None:
    """Refuse an archive that is damaged, has a password or would unpack to too much.

    Raises
    ------
    CorruptDocumentError
        When it has no directory: the end of the file is missing.
    EncryptedDocumentError
        When a part needs a password, or its manifest (OpenDocument) says so.
    DocumentTooLargeError
        When it says that it unpacks to more.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            parts = archive.infolist()
            if any(part.flag_bits & _ENCRYPTED_FLAG for part in parts):
                raise EncryptedDocumentError
            if sum(part.file_size for part in parts) > max_unpacked_bytes:
                raise DocumentTooLargeError("This document unpacks to more than can be read.")
            manifest = next((part for part in parts if part.filename == _MANIFEST), None)
            if manifest is not None and manifest.file_size <= _LARGEST_MANIFEST:
                with archive.open(manifest) as file:
                    if _ENCRYPTED_PARTS in file.read(_LARGEST_MANIFEST):
                        raise EncryptedDocumentError
    except DAMAGE as error:
        raise CorruptDocumentError from error

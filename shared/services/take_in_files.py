"""Storing the files that come with messages, the way that uploads are stored."""

import base64
import binascii
import hashlib
import logging
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AnyMessage

from shared.domain.documents import document_id_for
from shared.domain.errors import EverthreadError, InvalidInputError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.file_parts import Part, has_bytes, parts_of, plain_name, unstored_part, waiting_part, with_parts
from shared.domain.kb.records import CHAT_FOLDER
from shared.domain.prompt import inert
from shared.domain.uploads import UploadTooLargeError, legal_media_type, upload_key
from shared.kb_ports import DocumentRecords, UploadWriter
from shared.ports import Clock, Documents

_ANY_TYPE = "application/octet-stream"

_log = logging.getLogger(__name__)


class TakeInFiles:
    """Puts files where uploads are, so that the ingestion reads them, and names their documents in their place.

    Parameters
    ----------
    records : DocumentRecords
        What is known of documents.
    documents : Documents
        Where an upload is noted before its event arrives.
    uploads : UploadWriter
        The bucket of the uploads.
    clock : Clock
        The time of day.
    max_bytes : int
        What a document may have.
    """

    def __init__(
        self,
        *,
        records: DocumentRecords,
        documents: Documents,
        uploads: UploadWriter,
        clock: Clock,
        max_bytes: int,
    ) -> None:
        self._records = records
        self._documents = documents
        self._uploads = uploads
        self._clock = clock
        self._max_bytes = max_bytes

    async def take_in(self, user: UserId, messages: Iterable[AnyMessage]) -> list[AnyMessage]:
        """Store every file that is in some message and give the messages without the bytes (row KB02).

        The same bytes under the same name are one document however often they come, and bytes that are found already
        are not stored again (row KB04). A file that cannot be taken in leaves a text that says why, and does not stop
        the others (row KB03).

        Parameters
        ----------
        user : str
            Whose. From the verified identity.
        messages : iterable of message
            As they came; neither they nor their parts are changed.

        Raises
        ------
        StoreError
            When database or bucket cannot answer; doing it again does the rest.
        """
        taken: list[AnyMessage] = []
        known: dict[str, DocumentId] | None = None
        for message in messages:
            files = [part for part in parts_of(message) if has_bytes(part)]
            if files and known is None:
                known = await self._by_bytes(user)
            instead = [await self._taken(user, part, known or {}) for part in files if isinstance(part, dict)]
            waiting = iter(instead)
            taken.append(
                with_parts(message, lambda part, given=waiting: [next(given)] if has_bytes(part) else [part])
                if files
                else message
            )
        return taken

    async def _taken(self, user: UserId, part: dict[str, Any], known: dict[str, DocumentId]) -> Part:
        name = str(part.get("filename", ""))
        try:
            data = _decoded(part["base64"])
            if not data:
                raise InvalidInputError("It is empty.")
            if len(data) > self._max_bytes:
                raise UploadTooLargeError(self._max_bytes)
            digest = hashlib.sha256(data).hexdigest()
            key = upload_key(user, f"{CHAT_FOLDER}{digest}", name)
        except (InvalidInputError, UploadTooLargeError) as error:
            _log.info("file of a message not taken in", extra={"code": error.code})
            return unstored_part(inert(name), str(error))
        media_type = _media_type(part)
        if (document := known.get(digest)) is None:
            document = document_id_for(user, key)
            await self._uploads.write(key, data, media_type=media_type)
            # After the object: an upload that never arrived is not waited for.
            if await self._documents.expect_upload(user, key, size=len(data), now=self._clock.now()):
                await self._uploads.write(key, data, media_type=media_type, over=True)
            known[digest] = document
            _log.info("file of a message stored", extra={"document_id": document, "size": len(data)})
        return waiting_part(document, plain_name(name), media_type, digest)

    async def _by_bytes(self, user: UserId) -> dict[str, DocumentId]:
        return {record.sha256: record.id for record in await self._records.of_user(user) if record.stands_for_its_bytes}


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError("It is not base64.") from None


def _media_type(part: dict[str, Any]) -> str:
    try:
        return legal_media_type(str(part.get("mime_type", "")))
    except EverthreadError:
        return _ANY_TYPE

"""Requests and replies of the document routes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field

from functions.memory_api.models import Body, RequestBody
from functions.memory_api.trace_models import SpanBody
from shared.domain.kb.folders import MAX_FOLDER_NAME_CHARS, FolderId, Folders
from shared.domain.kb.parsed import DocumentKind
from shared.domain.kb.records import DocumentRecord, RunOrigin
from shared.domain.kb.reprocess import ReprocessMode
from shared.domain.kb.states import DocumentState
from shared.domain.spans import Span, SpanKind
from shared.domain.uploads import MAX_NAME_CHARS
from shared.services.manage_documents import FileToUpload, OfferedUpload
from shared.services.manage_folders import FolderView


class FileBody(RequestBody):
    """A file that is to be uploaded."""

    name: str = Field(max_length=MAX_NAME_CHARS, description="What it is called, without slashes.")
    size: int = Field(strict=True, description="Its bytes; the upload has to have exactly as many.")
    media_type: str = Field(
        "application/octet-stream", max_length=129, description="The upload has to be sent with this type."
    )
    sha256: str | None = Field(
        None, pattern="^[0-9A-Fa-f]{64}$", description="With it, bytes that are there already need not be sent again."
    )

    folder_id: str | None = Field(None, max_length=64, description="Where it is to be; in the default folder without.")

    def file(self, folder: FolderId | None) -> FileToUpload:
        """Give what the service takes."""
        return FileToUpload(
            name=self.name, size=self.size, media_type=self.media_type, sha256=self.sha256, folder=folder
        )


class DocumentBody(Body):
    """A document, and how far it has come."""

    id: str
    name: str
    folder_id: str = Field(description="Where it is; the default folder when the one that it was put in is gone.")
    state: DocumentState = Field(
        description="PENDING, PREPARED, OCR, MARKDOWN and EMBEDDING are on the way; the others are ends."
    )
    reason: str = Field(description="Why it failed, or what of it is missing.")
    retryable: bool = Field(description="Whether the same file may fare better another time.")
    searchable: bool = Field(description="Whether some version of it is found.")
    kind: DocumentKind | None
    size: int
    pages: int
    pages_done: int = Field(description="Pages that have their text.")
    chunks: int
    chunks_done: int = Field(description="Chunks that have their vector.")
    duplicate_of: str | None = Field(description="The document of the same bytes that is found in its place.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, record: DocumentRecord, folders: Folders) -> Self:
        """Make the body of a record."""
        return cls(
            id=record.id,
            name=record.name,
            folder_id=folders.of(record.folder),
            state=record.state,
            reason=record.reason,
            retryable=record.state.may_be_retried,
            searchable=record.is_searchable,
            kind=record.kind,
            size=record.size,
            pages=record.pages,
            pages_done=record.pages_done,
            chunks=record.chunks,
            chunks_done=len(record.embedded),
            duplicate_of=record.duplicate_of,
            created_at=record.created_at,
            updated_at=record.updated_at,
        )


class DocumentsBody(Body):
    """Every document of the user."""

    documents: list[DocumentBody] = Field(description="The newest first.")

    @classmethod
    def of(cls, records: Iterable[DocumentRecord], folders: Folders) -> Self:
        """Make the list."""
        return cls(documents=[DocumentBody.of(record, folders) for record in records])


class UploadBody(Body):
    """Where and how to send a file."""

    url: str
    method: Literal["PUT"] = "PUT"
    headers: dict[str, str] = Field(description="To be sent as they are; they are part of what is signed.")
    expires_at: datetime


class OfferBody(Body):
    """Leave to upload; or, with status 200, the document that has these bytes already."""

    document_id: str = Field(description="The document that it will be, from the moment that the upload has arrived.")
    upload: UploadBody | None = Field(description="Null when nothing has to be sent.")
    document: DocumentBody | None = Field(description="The document that has these bytes.")

    @classmethod
    def known(cls, record: DocumentRecord, folders: Folders) -> Self:
        """Make the body for bytes that are there."""
        return cls(document_id=record.id, upload=None, document=DocumentBody.of(record, folders))

    @classmethod
    def of(cls, answer: OfferedUpload) -> Self:
        """Make the body of a leave to upload."""
        ticket = answer.ticket
        upload = UploadBody(url=ticket.url, headers=dict(ticket.headers), expires_at=ticket.expires_at)
        return cls(document_id=answer.document, upload=upload, document=None)


class FolderNameBody(RequestBody):
    """What a folder is to be called."""

    name: str = Field(
        max_length=4 * MAX_FOLDER_NAME_CHARS,
        description=f"1 to {MAX_FOLDER_NAME_CHARS} characters, and no other folder's name in whichever case.",
    )


class FolderBody(Body):
    """A folder, and how far its documents have come."""

    id: str
    name: str
    is_default: bool = Field(description="The one that everybody has; it is neither renamed nor deleted.")
    created_at: datetime | None
    documents: int
    ready: int
    in_progress: int
    failed: int = Field(description="Those that ended without becoming searchable.")

    @classmethod
    def of(cls, view: FolderView) -> Self:
        """Make the body of what the service gave."""
        return cls(
            id=view.folder.id,
            name=view.folder.name,
            is_default=view.folder.is_default,
            created_at=view.folder.created_at,
            documents=view.documents,
            ready=view.ready,
            in_progress=view.in_progress,
            failed=view.failed,
        )


class FoldersBody(Body):
    """Every folder of the user."""

    folders: list[FolderBody] = Field(description="The default one, then the others by name.")


class ReprocessBody(RequestBody):
    """What is to be done again."""

    mode: ReprocessMode = ReprocessMode.FULL


class RunBody(Body):
    """One run of a document: an upload, or a request to go over it again."""

    id: str
    origin: RunOrigin | None
    mode: ReprocessMode | None
    spans: list[SpanBody] = Field(description="By the time at which they began.")


class RunsBody(Body):
    """What happened to a document."""

    runs: list[RunBody] = Field(description="The newest first.")

    @classmethod
    def of(cls, spans: Sequence[Span]) -> Self:
        """Make the list of spans in their order (row OB07)."""
        by_run: dict[str, list[Span]] = {}
        for span in spans:
            by_run.setdefault(span.run, []).append(span)
        return cls(runs=[_run(run, its) for run, its in reversed(by_run.items())])


def _run(run: str, spans: Sequence[Span]) -> RunBody:
    facts: dict[str, Any] = {}
    for root in (span for span in spans if span.kind is SpanKind.RUN):
        facts |= root.facts
    return RunBody(
        id=run,
        origin=facts.get("origin"),
        mode=facts.get("mode"),
        spans=[SpanBody.model_validate(span) for span in spans],
    )

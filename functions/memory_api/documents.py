"""The document routes."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import Depends, Request, Response

from functions.memory_api.document_models import (
    DocumentBody,
    DocumentsBody,
    FileBody,
    OfferBody,
    ReprocessBody,
    RunsBody,
)
from shared.adapters.http import requesting_user
from shared.domain.errors import InvalidIdError
from shared.domain.ids import DocumentId, UserId, parse_document_id
from shared.domain.kb.records import DocumentNotFoundError
from shared.services.manage_documents import ManageDocuments

User = Annotated[UserId, Depends(requesting_user)]


def _documents(request: Request) -> ManageDocuments:
    return request.app.state.documents


Documents = Annotated[ManageDocuments, Depends(_documents)]


def _document(document_id: str) -> DocumentId:
    # What is no document id names no document: the same 404 as for one that is missing or somebody else's.
    try:
        return parse_document_id(document_id)
    except InvalidIdError:
        raise DocumentNotFoundError from None


async def offer_upload(file: FileBody, user: User, documents: Documents, response: Response) -> OfferBody:
    """Ask for leave to upload a file into the knowledge base."""
    body = OfferBody.of(await documents.offer(user, file.file()))
    if body.upload is None:
        response.status_code = 200
    return body


async def list_documents(user: User, documents: Documents) -> DocumentsBody:
    """List the documents with how far they have come."""
    return DocumentsBody.of(await documents.all(user))


async def show_document(document_id: str, user: User, documents: Documents) -> DocumentBody:
    """Show one document with how far it has come."""
    return DocumentBody.of(await documents.one(user, _document(document_id)))


async def delete_document(document_id: str, user: User, documents: Documents) -> Response:
    """Delete a document with everything that was made of it."""
    await documents.delete(user, _document(document_id))
    return Response(status_code=204)


async def reprocess_document(
    document_id: str, user: User, documents: Documents, request: ReprocessBody | None = None
) -> DocumentBody:
    """Have a document gone over again."""
    mode = (request or ReprocessBody()).mode
    return DocumentBody.of(await documents.reprocess(user, _document(document_id), mode))


async def show_runs(document_id: str, user: User, documents: Documents) -> RunsBody:
    """Show what happened to a document, step by step."""
    return RunsBody.of(await documents.history(user, _document(document_id)))


DOCUMENT_ENDPOINTS: Final[Mapping[tuple[str, str], Callable[..., Any]]] = {
    ("POST", "/api/kb/documents"): offer_upload,
    ("GET", "/api/kb/documents"): list_documents,
    ("GET", "/api/kb/documents/{document_id}"): show_document,
    ("DELETE", "/api/kb/documents/{document_id}"): delete_document,
    ("POST", "/api/kb/documents/{document_id}/reprocess"): reprocess_document,
    ("GET", "/api/kb/documents/{document_id}/runs"): show_runs,
}

DOCUMENT_ERRORS: Final[Mapping[Callable[..., Any], tuple[int, ...]]] = {
    offer_upload: (400, 401, 413, 503),
    list_documents: (401, 503),
    show_document: (401, 404, 503),
    delete_document: (401, 404, 409, 503),
    reprocess_document: (400, 401, 404, 409, 503),
    show_runs: (401, 404, 503),
}

DOCUMENT_STATUS: Final[Mapping[Callable[..., Any], int]] = {
    offer_upload: 202,
    delete_document: 204,
    reprocess_document: 202,
}
"""Where it is not 200."""

"""The routes of documents and their folders."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import Depends, Query, Request, Response

from functions.memory_api.document_models import (
    DocumentBody,
    DocumentsBody,
    FileBody,
    FolderBody,
    FolderNameBody,
    FoldersBody,
    OfferBody,
    ReprocessBody,
    RunsBody,
)
from shared.adapters.http import requesting_user
from shared.domain.errors import InvalidIdError
from shared.domain.ids import DocumentId, UserId, parse_document_id
from shared.domain.kb.folders import FolderId, FolderNotFoundError, folder_id_or_none
from shared.domain.kb.records import DocumentNotFoundError, DocumentRecord
from shared.services.manage_documents import ManageDocuments
from shared.services.manage_folders import FolderView, ManageFolders

User = Annotated[UserId, Depends(requesting_user)]


def _documents(request: Request) -> ManageDocuments:
    return request.app.state.documents


def _folders(request: Request) -> ManageFolders:
    return request.app.state.folders


Documents = Annotated[ManageDocuments, Depends(_documents)]
Folders = Annotated[ManageFolders, Depends(_folders)]


def _document(document_id: str) -> DocumentId:
    # What is no document id names no document: the same 404 as for one that is missing or somebody else's.
    try:
        return parse_document_id(document_id)
    except InvalidIdError:
        raise DocumentNotFoundError from None


def _folder(folder_id: str) -> FolderId:
    folder = folder_id_or_none(folder_id)
    if folder is None:
        raise FolderNotFoundError
    return folder


async def offer_upload(file: FileBody, user: User, documents: Documents, response: Response) -> OfferBody:
    """Ask for leave to upload a file into the knowledge base."""
    folder = None if file.folder_id is None else _folder(file.folder_id)
    answer = await documents.offer(user, file.file(folder))
    if isinstance(answer, DocumentRecord):
        response.status_code = 200
        return OfferBody.known(answer, await documents.folders(user))
    return OfferBody.of(answer)


async def list_documents(
    user: User,
    documents: Documents,
    folder_id: Annotated[str | None, Query(alias="folderId", description="Only those in this folder.")] = None,
) -> DocumentsBody:
    """List the documents with how far they have come."""
    folder = None if folder_id is None else _folder(folder_id)
    return DocumentsBody.of(*await documents.all(user, folder=folder))


async def show_document(document_id: str, user: User, documents: Documents) -> DocumentBody:
    """Show one document with how far it has come."""
    record = await documents.one(user, _document(document_id))
    return DocumentBody.of(record, await documents.folders(user))


async def delete_document(document_id: str, user: User, documents: Documents) -> Response:
    """Delete a document with everything that was made of it."""
    await documents.delete(user, _document(document_id))
    return Response(status_code=204)


async def reprocess_document(
    document_id: str, user: User, documents: Documents, request: ReprocessBody | None = None
) -> DocumentBody:
    """Have a document gone over again."""
    mode = (request or ReprocessBody()).mode
    folders = await documents.folders(user)
    return DocumentBody.of(await documents.reprocess(user, _document(document_id), mode), folders)


async def show_runs(document_id: str, user: User, documents: Documents) -> RunsBody:
    """Show what happened to a document, step by step."""
    return RunsBody.of(await documents.history(user, _document(document_id)))


async def list_folders(user: User, folders: Folders) -> FoldersBody:
    """List the folders with how far their documents have come."""
    return FoldersBody(folders=[FolderBody.of(view) for view in await folders.all(user)])


async def create_folder(request: FolderNameBody, user: User, folders: Folders) -> FolderBody:
    """Make a folder."""
    return FolderBody.of(FolderView(folder=await folders.create(user, request.name)))


async def rename_folder(folder_id: str, request: FolderNameBody, user: User, folders: Folders) -> FolderBody:
    """Give a folder another name."""
    folder = await folders.rename(user, _folder(folder_id), request.name)
    return next(FolderBody.of(view) for view in await folders.all(user) if view.folder.id == folder.id)


async def delete_folder(
    folder_id: str,
    user: User,
    folders: Folders,
    delete_all: Annotated[bool, Query(alias="deleteAll", description="Whether the documents in it go too.")] = False,
) -> Response:
    """Delete a folder."""
    await folders.delete(user, _folder(folder_id), with_documents=delete_all)
    return Response(status_code=204)


DOCUMENT_ENDPOINTS: Final[Mapping[tuple[str, str], Callable[..., Any]]] = {
    ("POST", "/api/kb/documents"): offer_upload,
    ("GET", "/api/kb/documents"): list_documents,
    ("GET", "/api/kb/documents/{document_id}"): show_document,
    ("DELETE", "/api/kb/documents/{document_id}"): delete_document,
    ("POST", "/api/kb/documents/{document_id}/reprocess"): reprocess_document,
    ("GET", "/api/kb/documents/{document_id}/runs"): show_runs,
    ("GET", "/api/kb/folders"): list_folders,
    ("POST", "/api/kb/folders"): create_folder,
    ("PATCH", "/api/kb/folders/{folder_id}"): rename_folder,
    ("DELETE", "/api/kb/folders/{folder_id}"): delete_folder,
}

DOCUMENT_ERRORS: Final[Mapping[Callable[..., Any], tuple[int, ...]]] = {
    offer_upload: (400, 401, 404, 413, 503),
    list_documents: (401, 404, 503),
    show_document: (401, 404, 503),
    delete_document: (401, 404, 409, 503),
    reprocess_document: (400, 401, 404, 409, 503),
    show_runs: (401, 404, 503),
    list_folders: (401, 503),
    create_folder: (400, 401, 409, 503),
    rename_folder: (400, 401, 404, 409, 503),
    delete_folder: (400, 401, 404, 409, 503),
}

DOCUMENT_STATUS: Final[Mapping[Callable[..., Any], int]] = {
    offer_upload: 202,
    delete_document: 204,
    reprocess_document: 202,
    create_folder: 201,
    delete_folder: 204,
}
"""Where it is not 200."""

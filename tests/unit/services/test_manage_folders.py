"""Folders under two hands at a time, and what a search of a folder looks in."""

import pytest

from shared.domain.errors import VersionConflictError
from shared.domain.ids import UserId
from shared.domain.kb.folders import FolderExistsError, default_folder_id
from shared.domain.uploads import upload_key
from shared.services.manage_folders import ManageFolders, ReadFolders
from shared.services.search_knowledge import SearchKnowledge
from tests.fakes.folders import InMemoryFolders
from tests.fakes.knowledge import ANNA, KnowledgeBase

BEN = UserId("ben")


class OvertakenFolders(InMemoryFolders):
    """Somebody else makes a folder between each read and the write that follows, as often as there are names."""

    def __init__(self, *names):
        super().__init__()
        self.names = list(names)
        self.theirs = None

    async def save(self, folders):
        if self.names:
            name = self.names.pop(0)
            other = await self.of_user(folders.user)
            new = folders.made[-1]
            theirs = new.id[:-1] + ("0" if new.id[-1] != "0" else "1")
            await super().save(other.with_new(theirs, name, new.created_at))
        await super().save(folders)


@pytest.fixture
def kb():
    return KnowledgeBase()


async def put(kb, name, data, *, folder=None, user=ANNA):
    key = upload_key(user, f"u{len(kb.objects.kept)}", name, folder=folder)
    return await kb.upload(key.removeprefix(f"users/{user}/uploads/"), data, user=user)


def managing(kb, folders):
    return ManageFolders(folders=folders, records=kb.documents, documents=kb.manage, clock=kb.clock)


async def test_two_folders_that_are_made_at_a_time_are_both_there(kb):
    folders = OvertakenFolders("Theirs", "And another")
    await managing(kb, folders).create(ANNA, "Mine")
    assert {each.name for each in (await folders.of_user(ANNA)).made} == {"Theirs", "Mine", "And another"}


async def test_of_two_folders_of_one_name_that_are_made_at_a_time_there_is_one(kb):
    folders = OvertakenFolders("mine")
    with pytest.raises(FolderExistsError):
        await managing(kb, folders).create(ANNA, "Mine")
    assert [each.name for each in (await folders.of_user(ANNA)).made] == ["mine"]


async def test_who_is_overtaken_every_time_is_told(kb):
    folders = OvertakenFolders(*map(str, range(8)))
    with pytest.raises(VersionConflictError):
        await managing(kb, folders).create(ANNA, "Mine")


async def test_a_folder_holds_its_documents_and_what_its_duplicates_are_duplicates_of(kb):
    tax = (await kb.manage_folders.create(ANNA, "Tax")).id
    first = await put(kb, "first.md", b"The heron.")
    await put(kb, "copy.md", b"The heron.", folder=tax)
    inside = await put(kb, "inside.md", b"The egret.", folder=tax)
    contents = ReadFolders(kb.folders, kb.documents)

    assert set(await contents.documents_in(ANNA, [tax])) == {first.id, inside.id}
    assert set(await contents.documents_in(ANNA, [default_folder_id(ANNA)])) == {first.id}
    assert await contents.documents_in(ANNA, []) == ()
    assert await contents.documents_in(BEN, [tax, default_folder_id(ANNA)]) == ()


async def test_a_search_of_a_folder_finds_what_is_in_it_and_nothing_else(kb):
    # KB25
    tax = (await kb.manage_folders.create(ANNA, "Tax")).id
    empty = (await kb.manage_folders.create(ANNA, "Empty")).id
    outside = await put(kb, "outside.md", b"The heron stands outside.")
    await put(kb, "inside.md", b"The heron stands inside.", folder=tax)
    search = SearchKnowledge(
        index=kb.index,
        embedder=kb.embedder,
        documents=kb.documents,
        chunks=kb.chunks,
        metrics=kb.metrics,
    )
    contents = ReadFolders(kb.folders, kb.documents)

    async def found(*folders, user=ANNA, question="heron", documents=()):
        scope = [*documents, *await contents.documents_in(user, folders)]
        result = await search.search(user, question, scope)
        return {passage.text for passage in result.found.passages}

    assert await found(tax) == {"The heron stands inside."}
    assert await found(tax, question="") == {"The heron stands inside."}
    assert await found(tax, documents=[outside.id]) == {"The heron stands inside.", "The heron stands outside."}
    assert await found(empty) == await found() == set()
    assert await found(tax, user=BEN) == set()

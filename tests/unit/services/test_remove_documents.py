"""Removing what a document, or a user, has in the knowledge base; with the ingestion's fakes."""

import pytest

from shared.domain.errors import StoreError
from shared.domain.ids import UserId
from shared.domain.kb.folders import Folders
from shared.domain.kb.ingestion import DocumentRemoval
from shared.domain.kb.ocr import OcrText
from shared.domain.kb.states import DocumentState
from tests.fakes.knowledge import ANNA, KnowledgeBase

BEN = UserId("ben")
TEXT = b"# Heron\n\nThe heron stands in the water."
OTHER = b"# Egret\n\nThe egret stands on the shore."


@pytest.fixture
def kb():
    return KnowledgeBase()


def removal_of(record, run=None):
    return DocumentRemoval(user_id=ANNA, document_id=record.id, run=run or record.run, key=record.key)


async def everything_of(kb, user):
    return [
        *kb.index.kept.get(user, {}),
        *kb.chunks.kept.get(user, {}),
        *(key for key in kb.pages.kept if key[0] == user),
        *(key for key in kb.spans.kept if key[0] == user),
        *(key for key in kb.texts.kept if key[0] == user),
        *(kb.folders.kept.get(user, Folders(user=user)).made),
        *(key for key in kb.objects.kept if key.startswith(f"users/{user}/")),
        *(key for key in kb.documents.bytes if key[0] == user),
        *await kb.documents.of_user(user),
    ]


async def test_a_removed_document_leaves_nothing_and_takes_no_other_with_it(kb):
    record = await kb.upload("notes.md", TEXT)
    await kb.removal.remove(removal_of(record))
    assert await everything_of(kb, ANNA) == []
    await kb.upload("notes.md", TEXT)
    await kb.upload("other.md", OTHER)
    await kb.removal.remove(removal_of(await kb.record("notes.md")))
    assert await kb.found("egret")


async def test_documents_are_looked_through_only_when_there_is_a_text_of_the_removed_one(kb):
    record = await kb.upload("notes.md", TEXT)
    scan = await kb.upload("other.md", OTHER)
    await kb.texts.save(ANNA, scan.sha256, {1: OcrText(text="The egret.")})

    async def looks(removed):
        await kb.manage.delete(ANNA, removed.id)
        kb.documents.calls.clear()
        await kb.removal.remove(kb.queue.removals[-1])
        return kb.documents.calls["of_user"]

    without = await looks(record)
    assert await kb.texts.has_any(ANNA, scan.sha256)
    assert await looks(scan) == without + 1
    assert not await kb.texts.has_any(ANNA)


async def test_removing_again_does_nothing(kb):
    record = await kb.upload("notes.md", TEXT)
    for _ in range(2):
        await kb.removal.remove(removal_of(record))
    assert await everything_of(kb, ANNA) == []


async def test_a_document_that_was_uploaded_again_since_stays(kb):
    old = await kb.upload("notes.md", TEXT)
    await kb.upload("notes.md", OTHER)
    await kb.removal.remove(removal_of(old))
    assert (await kb.record("notes.md")).state is DocumentState.READY
    assert await kb.found("egret")


@pytest.mark.parametrize("part", ["index", "chunks", "pages", "spans", "objects"])
async def test_a_removal_that_died_half_way_is_finished_by_the_next(kb, part):
    record = await kb.upload("notes.md", TEXT)
    failing = getattr(kb, part)
    failing.failures = {name: StoreError("down") for name in ("delete", "remove")}
    with pytest.raises(StoreError):
        await kb.removal.remove(removal_of(record))
    assert await kb.found("heron") == []
    failing.failures = {}
    await kb.removal.remove(removal_of(record))
    assert await everything_of(kb, ANNA) == []


async def test_a_purge_removes_everything_of_one_user(kb):
    await kb.upload("notes.md", TEXT)
    await kb.upload("same.md", TEXT)
    await kb.upload("blank.txt", b"  ")
    kb.objects.put(f"users/{ANNA}/exports/all.json", b"{}")
    await kb.manage_folders.create(ANNA, "Tax")
    await kb.manage_folders.create(BEN, "Tax")
    for user in (ANNA, BEN):
        await kb.texts.save(user, "5a", {1: OcrText(text="The heron.")})
    await kb.upload("notes.md", TEXT, user=BEN)
    theirs = await everything_of(kb, BEN)

    kb.chunks.failures["purge"] = StoreError("down")
    with pytest.raises(StoreError):
        await kb.removal.purge(ANNA)
    kb.chunks.failures.clear()
    await kb.removal.purge(ANNA)

    assert await everything_of(kb, ANNA) == []
    assert await everything_of(kb, BEN) == theirs
    assert await kb.found("heron", user=BEN)

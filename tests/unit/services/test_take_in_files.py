"""Files of messages whose document is on its way out, or not yet there; with the ingestion's fakes."""

import base64
from datetime import timedelta

import pytest
from langchain_core.messages import HumanMessage

from shared.domain.errors import StoreError
from shared.domain.kb.reprocess import ProcessingError
from shared.domain.kb.states import DocumentState
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.knowledge import ANNA

TEXT = b"# Herons\n\nThe heron nests in March."
FILE = {
    "type": "file",
    "filename": "herons.md",
    "mime_type": "text/markdown",
    "base64": base64.b64encode(TEXT).decode(),
}


class Chat(ChatKnowledge):
    """Files that are sent, and the events that the bucket tells of them, to be delivered when a test says so."""

    async def send(self):
        """Send the file, and give the document that stands for it."""
        (message,) = await self.files.take_in(ANNA, [HumanMessage([FILE], id="h1")])
        return message.content[0]["file_id"]

    def event(self):
        """Give the event of the object as it is in the bucket now."""
        (key,) = self.base.objects.kept
        data = self.base.objects.kept.pop(key)[-1][1]
        return self.base.change(key.split("/", 3)[3], data)

    async def read(self):
        """Have the ingestion take the object that is there."""
        await self.base.deliver(self.event())

    async def remove(self):
        """Have the queue deliver every removal."""
        for removal in self.base.queue.removals:
            await self.base.removal.remove(removal)

    async def state(self, document):
        return (await self.base.documents.get(ANNA, document)).state


@pytest.fixture
def chat():
    return Chat()


@pytest.mark.parametrize("removed", ["before", "after", "before and again after"])
async def test_a_file_that_is_sent_again_after_its_document_was_deleted_is_read_again(chat, removed):
    document = await chat.send()
    await chat.read()
    await chat.base.manage.delete(ANNA, document)
    if "before" in removed:
        await chat.remove()

    assert await chat.send() == document
    assert await chat.state(document) is DocumentState.PENDING
    if "after" in removed:
        await chat.remove()
    await chat.read()

    assert await chat.state(document) is DocumentState.READY
    assert await chat.base.found("heron") == [TEXT.decode()]


async def test_the_event_of_the_object_that_was_deleted_does_not_pass_for_the_new_one(chat):
    document = await chat.send()
    late = chat.event()
    await chat.base.deliver(late)
    await chat.base.manage.delete(ANNA, document)
    await chat.send()

    assert await chat.base.deliver(late) is None
    assert await chat.state(document) is DocumentState.PENDING


async def test_a_file_whose_second_try_died_is_stored_by_the_third(chat):
    document = await chat.send()
    await chat.read()
    await chat.base.manage.delete(ANNA, document)
    chat.base.objects.failures["write_over"] = StoreError("down")
    with pytest.raises(StoreError):
        await chat.send()
    chat.base.objects.failures.clear()
    before = chat.base.objects.calls["write_over"]

    await chat.send()
    assert chat.base.objects.calls["write_over"] == before + 1


async def test_bytes_that_are_there_and_known_are_not_written_over(chat):
    await chat.send()
    await chat.read()
    await chat.send()
    assert chat.base.objects.calls["write_over"] == 0


async def test_a_document_is_not_deleted_before_the_event_of_its_object(chat):
    """Whatever was done before it, the event would bring the document back."""
    document = await chat.send()

    with pytest.raises(ProcessingError) as refused:
        await chat.base.manage.delete(ANNA, document)
    assert refused.value.retryable
    assert chat.base.queue.removals == []

    await chat.read()
    await chat.base.manage.delete(ANNA, document)
    await chat.remove()
    assert (chat.base.objects.kept, await chat.base.documents.of_user(ANNA)) == ({}, [])


async def test_a_document_whose_event_was_lost_can_be_deleted_at_last(chat):
    document = await chat.send()
    chat.base.clock.advance(timedelta(hours=4))
    await chat.base.manage.delete(ANNA, document)
    assert await chat.base.documents.of_user(ANNA) == []

"""What readers of a thread see of the files in it: TP18."""

import base64

from langchain_core.messages import HumanMessage

from shared.domain.turns import transcript, turns_of
from shared.graphs.agent.nodes.kb_agent import rewritten
from shared.services.lookup_turns import LookupTurns
from shared.services.show_documents import DocumentedMessages, ShownDocuments
from tests.fakes.agent_turns import OTHER, USER
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.thread_messages import InMemoryThreadMessages

THREAD = "7c9f8f3e-5d0f-4a53-8a39-0d6d7c0c9b11"
TEXT = "# Herons\n\nThe heron nests in March."
DATA = base64.b64encode(TEXT.encode()).decode()


async def thread(library):
    """A message with a file, as it stays in a thread."""
    file = {"type": "file", "filename": "herons.md", "mime_type": "text/markdown", "base64": DATA}
    taken = await library.files.take_in(USER, [HumanMessage(["When?", file], id="h1")])
    await library.ingest()
    return [rewritten(message) for message in taken]


async def test_a_summary_is_made_of_the_documents_text():
    library = ChatKnowledge()
    stored = InMemoryThreadMessages()
    messages = await thread(library)
    stored.put(USER, THREAD, messages)

    shown = await DocumentedMessages(stored, library.services().show).load(USER, THREAD)

    text = transcript(turns_of(shown), char_limit=1_000)
    assert "The heron nests in March." in text
    assert await stored.load(USER, THREAD) == messages
    assert [message.id for message in shown] == ["h1"]


async def test_whoever_does_not_resolve_it_sees_the_files_name_and_no_bytes():
    library = ChatKnowledge()
    messages = await thread(library)

    text = transcript(turns_of(messages), char_limit=1_000)
    looked_up = str(LookupTurns().find(messages, (), "#1"))

    for seen in (text, looked_up):
        assert "herons.md" in seen
        assert "[file: [kb:d-" in seen
        assert DATA not in seen
        assert "kb_ref" not in seen


async def test_a_text_that_was_read_is_not_read_again_in_the_turn():
    library = ChatKnowledge()
    messages, read = await thread(library), ShownDocuments()
    show = library.services().show

    first = await show.shown(USER, messages, read)
    calls = library.base.documents.calls.total()

    assert await show.shown(USER, messages, read) == first
    assert library.base.documents.calls.total() == calls


async def test_a_thread_that_another_reads_shows_nothing_of_the_file():
    library = ChatKnowledge()
    messages = await thread(library)

    for reader in (OTHER, None):
        (message,) = await library.services().show.shown(reader, messages)
        assert message.content == ["When?"]

"""What readers of a thread see of the files in it: TP18."""

import base64

from langchain_core.messages import HumanMessage

from shared.domain.kb.file_parts import marked
from shared.domain.turns import transcript, turns_of
from shared.graphs.agent.nodes.kb_agent import rewritten
from shared.services.lookup_turns import LookupTurns
from shared.services.show_documents import ShownDocuments
from tests.fakes.agent_turns import OTHER, USER
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.made_files import pdf

TEXT = "# Herons\n\nThe heron nests in March."
DATA = base64.b64encode(TEXT.encode()).decode()


async def thread(library):
    """A message with a file, as it stays in a thread."""
    file = {"type": "file", "filename": "herons.md", "mime_type": "text/markdown", "base64": DATA}
    taken = await library.files.take_in(USER, [HumanMessage(["When?", file], id="h1")])
    await library.ingest()
    return [rewritten(message) for message in taken]


async def asked_about(library, name, text, *, place=0):
    """A question with a file that is a document, as it stays in a thread."""
    record = await library.upload(name, text, user=USER)
    return HumanMessage(["What?", *marked({"type": "file", "file_id": record.id}, record.id)], id=f"h{place}")


async def test_what_is_shown_is_not_what_is_stored():
    library = ChatKnowledge()
    messages = await thread(library)
    before = [message.model_copy(deep=True) for message in messages]

    shown = await library.services().show.shown(USER, messages)

    assert "The heron nests in March." in transcript(turns_of(shown), char_limit=1_000)
    assert messages == before
    assert [message.id for message in shown] == ["h1"]


async def test_of_documents_that_there_is_no_room_for_no_text_is_read():
    library = ChatKnowledge(document_tokens=100)
    thread = [await asked_about(library, f"{n}.md", f"file {n} " * 200, place=n) for n in range(5)]
    pages, records = library.base.pages, library.base.documents
    pages.calls.clear()
    records.calls.clear()

    shown = await library.services().show.shown(USER, thread)

    assert (pages.calls["of_reading"], records.calls["get"]) == (1, 5)
    said = [message.text for message in shown]
    assert "Only the beginning is shown" in said[-1]
    assert all("left out to save room" in each and "file " not in each for each in said[:-1])


async def test_of_a_document_only_the_pages_that_there_is_room_for_are_read():
    library = ChatKnowledge(document_tokens=100)
    data = pdf(*[f"Page {n}. " + "The heron nests in March. " * 6 for n in range(20)])
    record = await library.base.upload("long.pdf", data, user=USER)
    asked = HumanMessage(["What?", *marked({"type": "file", "file_id": record.id}, record.id)], id="h1")
    library.base.pages.pages_read = 0

    (shown,) = await library.services().show.shown(USER, [asked])

    assert "Page 1." in shown.text
    assert "Only the beginning is shown" in shown.text
    assert 0 < library.base.pages.pages_read < 10


async def test_what_was_cut_is_read_again_when_there_is_more_room():
    library, read = ChatKnowledge(document_tokens=100), ShownDocuments()
    first = await asked_about(library, "first.md", "one two " * 30, place=1)
    second = await asked_about(library, "second.md", "three four " * 20, place=2)

    _, shown = await library.services().show.shown(USER, [second, first], read)
    assert shown.text.count("one") == 30
    (alone,) = await library.services().show.shown(USER, [second], read)
    assert alone.text.count("three four") == 20


async def test_a_file_that_nobody_marked_is_shown_and_never_sent():
    library = ChatKnowledge()
    record = await library.upload("herons.md", TEXT, user=USER)
    waiting = {"type": "file", "file_id": record.id, "filename": "herons.md"}
    with_bytes = {"type": "file", "base64": DATA, "filename": "herons.md"}

    (shown,) = await library.services().show.shown(USER, [HumanMessage(["When?", waiting, with_bytes], id="h1")])

    assert [part if isinstance(part, str) else part["type"] for part in shown.content] == ["When?", "text"]
    assert "The heron nests in March." in shown.text


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

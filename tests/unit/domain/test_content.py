import base64
import hashlib
from typing import Any

import pytest

from shared.domain.content import says_the_same, text_of
from shared.domain.ids import DocumentId
from shared.domain.kb.file_parts import bytes_part, marked, waiting_part

PIXELS = "data:image/png;base64," + "A" * 1000


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("as it is \n", "as it is \n"),
        ("", ""),
        ([], ""),
        (["one", {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "text", "text": ""}, "", {"type": "text", "text": "said"}], "said"),
        ([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}], "a\nb"),
        ([{"text": "Converse"}], "Converse"),
        # TP06: markers
        (
            [{"type": "image_url", "image_url": {"url": "https://x.example/cat.png"}}],
            "[image: https://x.example/cat.png]",
        ),
        ([{"type": "image_url", "image_url": "https://x.example/cat.png"}], "[image: https://x.example/cat.png]"),
        ([{"type": "image", "source": {"type": "url", "url": "https://x.example/c"}}], "[image: https://x.example/c]"),
        ([{"type": "image", "url": "https://x.example/c"}], "[image: https://x.example/c]"),
        ([{"type": "file", "file": {"filename": "plan.pdf", "file_data": PIXELS}}], "[file: plan.pdf]"),
        ([{"type": "file", "mime_type": "application/pdf", "base64": "AAAA", "filename": "b.pdf"}], "[file: b.pdf]"),
        ([{"type": "file", "metadata": {"filename": "[kb:d-1] c.pdf"}, "url": "s3://x"}], "[file: [kb:d-1] c.pdf]"),
        ([{"type": "document", "document": {"name": "d", "format": "pdf"}}], "[file: d]"),
        ([{"document": {"name": "d", "format": "pdf", "source": {"bytes": "AAAA"}}}], "[file: d]"),
        ([{"type": "audio", "base64": "AAAA"}], "[audio]"),
        ([{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}], "[audio]"),
        ([{"type": "video", "file_id": "f-1"}], "[video: f-1]"),
        # Never the bytes of anything.
        ([{"type": "image_url", "image_url": {"url": PIXELS}}], "[image]"),
        ([{"type": "image_url", "image_url": PIXELS.upper()}], "[image]"),
        ([{"type": "image", "source": {"type": "base64", "data": "A" * 1000}}], "[image]"),
        # No text at all: tool calls are a field of the message, thoughts are not said.
        ([{"type": "tool_use", "id": "c", "name": "weather", "input": {}}], ""),
        ([{"type": "reasoning_content", "reasoning_content": {"text": "hm"}}, {"type": "text", "text": "a"}], "a"),
        ([{"type": "thinking", "thinking": "hm", "signature": "s"}], ""),
        ([{"cachePoint": {"type": "default"}}], ""),
        # Unknown parts become JSON.
        ([{"type": "card", "title": "Grüße"}], '{"type": "card", "title": "Grüße"}'),
        ([{"type": "text", "text": 4}], '{"type": "text", "text": 4}'),
        ([{"type": ["odd"]}], '{"type": ["odd"]}'),
        ([{}], "{}"),
        ([None, 4], "null\n4"),
        ({"city": "Oslo"}, '{"city": "Oslo"}'),
        (None, "null"),
    ],
)
def test_content_as_text(content: object, text: str) -> None:
    assert text_of(content) == text


def test_markers_and_unknown_parts_are_short() -> None:
    long = "x" * 5000
    assert len(text_of([{"type": "image_url", "image_url": {"url": f"https://{long}"}}])) < 250
    assert len(text_of([{"type": "card", "body": long}])) < 250


def test_what_json_cannot_hold_has_a_text_all_the_same() -> None:
    assert "object" in text_of([{"type": "card", "body": object()}])


ONE, TWO = (DocumentId(f"d-00000000-0000-4000-8000-00000000000{n}") for n in (1, 2))


def sent(data: bytes) -> dict[str, Any]:
    return bytes_part("a.md", "text/markdown", base64.b64encode(data).decode())


def stored(data: bytes, document: DocumentId) -> list[Any]:
    return marked(waits_as(data, document), document)


def waits_as(data: bytes, document: DocumentId) -> dict[str, Any]:
    return waiting_part(document, "a.md", "text/markdown", hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    ("again", "same"),
    [
        ([], True),
        (stored(b"A", ONE), True),
        ([waits_as(b"A", ONE)], True),
        ([waits_as(b"A", TWO)], True),  # the same bytes, which are another document by now
        ([sent(b"A")], True),
        ([{"type": "file", "file_id": ONE, "filename": "a.md"}], True),
        (stored(b"B", TWO), False),
        ([waits_as(b"B", TWO)], False),
        ([sent(b"B")], False),
        ([{"type": "file", "file_id": TWO, "filename": "a.md"}], False),
        ([{"type": "kb_ref", "docId": TWO}], False),
        ([*stored(b"A", ONE), sent(b"B")], False),
    ],
)
def test_a_message_with_another_file_is_another(again: list[Any], same: bool) -> None:
    known = ["What is in it?", *stored(b"A", ONE)]
    assert says_the_same(known, ["What is in it?", *again]) is same


def test_a_message_to_which_a_file_was_added_is_another() -> None:
    assert not says_the_same("What is in it?", ["What is in it?", sent(b"A")])

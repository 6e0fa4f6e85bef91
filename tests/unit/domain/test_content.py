import pytest

from shared.domain.content import text_of

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

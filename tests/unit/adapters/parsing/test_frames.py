from io import BytesIO

import pytest

from shared.adapters.parsing.frames import AllPages, Done, Frame, read_frames, write_frame
from shared.domain.kb.failures import DocumentError, EncryptedDocumentError
from shared.domain.kb.pages import Page
from shared.domain.kb.parsed import DocumentKind, PageScan

FRAMES: list[Frame] = [
    DocumentKind.PDF,
    Page(
        number=1,
        markdown="Line.\nOther \u65e5\u672c line.",
        characters=9,
        image_cover=0.5,
        rotation=90,
        label="Slide 1",
    ),
    PageScan(number=2, data=b"\x00\n[bytes]\n", media_type="application/pdf"),
    AllPages(),
    Done(1.25),
]


def written(*frames: Frame) -> bytes:
    file = BytesIO()
    for frame in frames:
        write_frame(file, frame)
    return file.getvalue()


def test_frames_are_read_as_they_were_written():
    assert list(read_frames(BytesIO(written(*FRAMES)))) == FRAMES


def test_a_failure_is_read_as_the_error_that_it_was():
    (failure,) = read_frames(BytesIO(written(EncryptedDocumentError())))

    assert isinstance(failure, DocumentError)
    assert (type(failure), failure.reason) == (EncryptedDocumentError, EncryptedDocumentError().reason)


def test_of_a_child_that_was_ended_the_whole_frames_are_left():
    whole = written(*FRAMES)
    ends = {len(written(*FRAMES[:n])): n for n in range(len(FRAMES) + 1)}

    for cut in range(len(whole) + 1):
        complete = max(n for end, n in ends.items() if end <= cut)
        assert list(read_frames(BytesIO(whole[:cut]))) == FRAMES[:complete]


@pytest.mark.parametrize(
    "line",
    [
        b"nothing\n",
        b"[]\n",
        b"{}\n",
        b'["other", 1]\n',
        b'["page", {"number": 1}]\n',
        b'["kind", "exe"]\n',
        b'["scan", 3]\n',
    ],
)
def test_what_no_child_of_ours_says_ends_the_reading(line: bytes):
    assert list(read_frames(BytesIO(line + written(AllPages())))) == []

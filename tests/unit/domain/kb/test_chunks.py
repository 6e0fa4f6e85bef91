import pytest

from shared.domain.errors import InvalidIdError
from shared.domain.ids import DocumentId
from shared.domain.kb.chunks import ChunkPlace, chunk_id, parse_chunk_id

DOCUMENT = DocumentId("d-00000000-0000-4000-8000-000000000001")


def test_an_id_is_read_as_it_was_written():
    assert chunk_id(DOCUMENT, 3, 17) == f"{DOCUMENT}:3:17"
    assert parse_chunk_id(chunk_id(DOCUMENT, 3, 17)) == ChunkPlace(DOCUMENT, 3, 17)


@pytest.mark.parametrize(
    "value", ["", "d-1:1:1", DOCUMENT, f"{DOCUMENT}:1", f"{DOCUMENT}:1:-1", f"{DOCUMENT}:01:1", f"{DOCUMENT}:1:\u0661"]
)
def test_nothing_else_is_one(value: str):
    with pytest.raises(InvalidIdError):
        parse_chunk_id(value)

import pytest
from pydantic import ValidationError

from shared.domain.purges import ThreadPurge

THREAD = "11111111-1111-4111-8111-aaaaaaaaaaaa"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"userId": "u1"},
        {"userId": "", "threadId": THREAD},
        {"userId": "a.b", "threadId": THREAD},
        {"userId": "u1", "threadId": "not-a-uuid"},
        {"userId": "u1", "threadId": THREAD.upper()},
        {"userId": "u1", "threadId": THREAD, "version": 2},
    ],
)
def test_what_could_purge_the_wrong_rows_is_refused(body):
    with pytest.raises(ValidationError):
        ThreadPurge.model_validate(body)

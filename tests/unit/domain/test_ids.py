from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import InvalidIdError, MissingUserIdError
from shared.domain.ids import (
    parse_document_id,
    parse_run_id,
    parse_thread_id,
    require_user_id,
    thread_id_or_none,
    user_id_or_none,
)

LOWER = "0c0d7a51-2f9d-4f0e-9a3b-5a3a7a0f8d10"
NO_UUID = [
    None,
    42,
    "",
    "thread",
    LOWER.replace("-", ""),
    f"{{{LOWER}}}",
    f"urn:uuid:{LOWER}",
    f"{LOWER} ",
    f"{LOWER}\n",
    "0c0d7a51-2f9d-4f0e-9a3b-5a3a7a0f8d1g",
    "../../etc/passwd",
]


@pytest.mark.parametrize("value", [LOWER, "github_4711", "üser", "a" * 128, "me@example"])
def test_a_user_id_is_any_namespace_label(value: str) -> None:
    assert user_id_or_none(value) == value
    assert require_user_id(value) == value


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        42,
        True,
        object(),
        [LOWER],
        {"id": LOWER},
        b"user",
        "langgraph",
        "a.b",
        "a b",
        "a\n",
        "\x00",
        "\x7f",
        "a" * 129,
    ],
)
def test_what_is_no_namespace_label_is_no_user(value: object) -> None:
    # ID03, HID-27: none, never a default.
    assert user_id_or_none(value) is None
    with pytest.raises(MissingUserIdError) as refused:
        require_user_id(value)
    assert refused.value.code == "MISSING_USER_ID"


@given(st.uuids())
def test_a_thread_has_one_id_whatever_the_case_of_its_letters(uuid: UUID) -> None:
    assert (
        thread_id_or_none(str(uuid).upper()) == thread_id_or_none(str(uuid)) == parse_thread_id(str(uuid)) == str(uuid)
    )


@pytest.mark.parametrize("value", NO_UUID)
def test_other_spellings_of_a_uuid_are_no_ids(value: object) -> None:
    assert thread_id_or_none(value) is None
    for parse in (parse_thread_id, parse_run_id, parse_document_id):
        with pytest.raises(InvalidIdError):
            parse(value)


def test_a_run_id_is_a_uuid() -> None:
    assert parse_run_id(LOWER.upper()) == LOWER


def test_a_document_id_is_a_uuid_with_its_mark() -> None:
    assert parse_document_id(f"d-{LOWER.upper()}") == f"d-{LOWER}"
    for value in (LOWER, f"D-{LOWER}", f"d-d-{LOWER}", "d-", b"d-"):
        with pytest.raises(InvalidIdError):
            parse_document_id(value)

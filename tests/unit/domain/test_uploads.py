import pytest

from shared.domain.uploads import owner_of


@pytest.mark.parametrize(
    ("key", "owner"),
    [
        ("users/u-1/uploads/notes.pdf", "u-1"),
        ("users/u-1/uploads/2026/march/notes.pdf", "u-1"),
        ("users/u-1/uploads/c++ notes.pdf", "u-1"),
        ("users/u-1/uploads/two\nlines.pdf", "u-1"),
        ("users/u-1/uploads/", None),
        ("users/u-1/uploads/folder/", None),
        ("users/u-1/uploads", None),
        ("users/u-1/exports/all.json", None),
        ("users//uploads/notes.pdf", None),
        ("users/u/1/uploads/notes.pdf", None),
        ("users/a.b/uploads/notes.pdf", None),
        ("other/users/u-1/uploads/notes.pdf", None),
        ("notes.pdf", None),
        ("", None),
    ],
)
def test_only_what_lies_under_a_user_s_uploads_is_somebody_s(key, owner):
    # Folder markers are no documents.
    assert owner_of(key) == owner

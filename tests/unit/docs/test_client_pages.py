"""The pages of the clients: all are listed, and what they name is there."""

import re

from local.layout import REPOSITORY

PAGES = REPOSITORY / "docs/clients"


def test_every_client_has_its_row_and_every_row_its_page():
    listed = re.findall(r"^\| \[.*\]\((.*\.md)\)", (PAGES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in PAGES.glob("*.md") if page.name != "README.md")


def test_the_tests_that_the_list_names_are_there():
    named = re.findall(r"`(tests/[^`]*\.\w+)`", (PAGES / "README.md").read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not (REPOSITORY / path).exists()] == []

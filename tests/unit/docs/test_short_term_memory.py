"""What the page says is what happens: its examples are run, its names are looked up."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel

from shared.domain.threads import DESTRUCTIVE_POLICIES, HISTORY_POLICIES
from tests.fakes.dynamodb import mocked_dynamodb

PAGE = Path(__file__).parents[3] / "docs" / "short_term_memory.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = [
    # Empty lines before it, so that an error names the line of the page.
    "\n" * TEXT[: found.start(1)].count("\n") + found[1]
    for found in re.finditer(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
]


def test_every_example_does_what_it_says():
    """ST2-01 to ST2-28."""
    names: dict[str, Any] = {"model": FakeListChatModel(responses=["An answer."])}
    with mocked_dynamodb() as client:
        names["client"] = client
        for example in EXAMPLES:
            exec(compile(example, PAGE, "exec"), names)  # noqa: S102 - our own page
        stored = client.scan(TableName="checkpoints", Select="COUNT")["Count"]

    # They did run on the tables, and each of them checks something.
    assert stored > 100
    assert sum("assert " in example for example in EXAMPLES) >= len(EXAMPLES) - 1


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(lang[a-z_]+(?:\.\w+)+)`", TEXT))))
def test_every_name_in_the_table_is_there(name):
    """ST2-30."""
    module, _, attribute = name.rpartition(".")
    assert hasattr(import_module(module), attribute)


@pytest.mark.parametrize("policy", HISTORY_POLICIES)
def test_every_policy_is_told_and_whether_it_costs_messages(policy):
    """Decision 12."""
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{policy}`")]
    assert row.endswith("| **yes** |" if policy in DESTRUCTIVE_POLICIES else "| no |")


def test_the_table_names_both_languages():
    """ST2-29, ST2-30."""
    table = TEXT.split("## Names in Python and in JavaScript")[1]
    for python, javascript in [
        ("trim_messages", "trimMessages"),
        ("previous", "getPreviousState"),
        ("entrypoint.final", "entrypoint.final"),
        ("MessagesState", "MessagesValue"),
    ]:
        assert any(python in row and javascript in row.rpartition("|")[0] for row in table.splitlines())

"""The pages for operators name what there is: tests, alarms and log lines."""

import re
from pathlib import Path

import pytest

from infra.constructs.counter_alarms import WATCHED

ROOT = Path(__file__).parents[3]
THREATS = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`([\w/]+\.py::\w+)`", THREATS))))
def test_the_test_that_shows_a_protection_is_there(named):
    path, _, name = named.partition("::")
    assert re.search(rf"def {name}\(", (ROOT / "tests" / path).read_text(encoding="utf-8"))


def test_every_protection_names_its_test():
    rows = [line for line in THREATS.splitlines() if line.startswith("|") and line.count("|") == 4]
    protections = [row for row in rows if not row.startswith(("| threat", "| ---"))]
    assert len(protections) > 20
    assert [row for row in protections if "::test_" not in row] == []


@pytest.mark.parametrize("watched", WATCHED, ids=lambda watched: f"{watched.counter}-{watched.function}")
def test_an_alarm_on_a_counter_is_in_the_runbook(watched):
    assert f"`{watched.counter}In{watched.function.title().replace('_', '')}`" in RUNBOOK


@pytest.mark.parametrize("line", sorted(set(re.findall(r'message = "([^"]+)"', RUNBOOK))))
def test_a_log_line_that_is_searched_for_is_written(line):
    sources = [*(ROOT / "shared").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
    assert any(f'"{line}"' in source.read_text(encoding="utf-8") for source in sources)

"""What a start shows while it goes on."""

import io
import re

import pytest
from rich.console import Console

from local.steps import Steps


async def shown(*, terminal: bool) -> list[str]:
    written = io.StringIO()
    async with Steps(Console(file=written, force_terminal=terminal, color_system=None, width=80)) as steps:
        steps.begin("local cloud")
        steps.begin("deployment")
        steps.done()
    return [line for line in re.sub(r"\x1b\[[?0-9;]*[A-Za-z]|\r", "", written.getvalue()).split("\n") if line.strip()]


async def test_without_a_terminal_a_step_is_told_when_it_begins() -> None:
    lines = [re.sub(r"[0-9.]+ s", "… s", line) for line in await shown(terminal=False)]

    assert lines == ["  local cloud …", "  local cloud: … s", "  deployment …", "  deployment: … s"]


@pytest.mark.parametrize("step", ["local cloud", "deployment"])
async def test_every_step_says_how_long_it_took(step: str) -> None:
    assert any(re.search(rf"  {step}: [0-9.]+ s", line) for line in await shown(terminal=True))

"""Nothing that comes from a model, a page or a file's name makes the terminal do anything."""

import io

import pytest
from rich.console import Console

from local.chat.api import ListedThread, Memory, ThreadSummaries
from local.chat.events import LookedUp, MemorySaved, Token, ToolFailed, ToolStarted, TurnFailed
from local.chat.view import View
from local.terminal import shown

# A title for the window, something for the clipboard, a colour and the cursor in both spellings, a bell, a backspace.
PAYLOAD = "a\x1b]0;title\x07b\x1b]52;c;cm0=\x1b\\c\x1b[31md\x9b2Je\x9d0;t\x9cf\x08\x7f\x00\x90g\u202eh\ud800i\rj"
HARMLESS = set("\n")


def written(show) -> str:
    console = Console(file=io.StringIO(), width=500, force_terminal=True, no_color=True, highlight=False)
    view = View(console)
    show(view)
    view.end_turn()
    text = console.file.getvalue()
    for style in ("0", "1", "2", "9", "1;2"):
        text = text.replace(f"\x1b[{style}m", "")
    return text


@pytest.mark.parametrize(
    "show",
    [
        pytest.param(lambda view: view.show(Token(PAYLOAD)), id="answer"),
        pytest.param(lambda view: view.show(ToolStarted(PAYLOAD)), id="tool"),
        pytest.param(lambda view: view.show(ToolFailed(PAYLOAD, PAYLOAD)), id="failure of a tool"),
        pytest.param(lambda view: view.show(TurnFailed(PAYLOAD, PAYLOAD)), id="failure"),
        pytest.param(lambda view: view.show(MemorySaved({"k": "", PAYLOAD: 1}, {"k": PAYLOAD})), id="saved"),
        pytest.param(lambda view: view.show(LookedUp(((PAYLOAD, ((PAYLOAD, PAYLOAD),)),))), id="looked up"),
        pytest.param(lambda view: view.note(PAYLOAD), id="note"),
        pytest.param(lambda view: view.fault(PAYLOAD), id="fault"),
        pytest.param(lambda view: view.threads([ListedThread("1", PAYLOAD, "", "")], ""), id="title"),
        pytest.param(lambda view: view.messages([("human", PAYLOAD)]), id="message"),
        pytest.param(lambda view: view.memory(Memory({PAYLOAD: [PAYLOAD]}, {}, {PAYLOAD: [PAYLOAD]})), id="profile"),
        pytest.param(lambda view: view.summaries([ThreadSummaries("1", PAYLOAD, [PAYLOAD])]), id="summaries"),
    ],
)
def test_control_sequences_are_shown_and_not_obeyed(show):
    text = written(show)
    assert {letter for letter in text if not letter.isprintable()} <= HARMLESS
    assert "a␛]0;title" in text
    text.encode()


def test_letters_lines_and_tabs_stay_as_they_are():
    text = "Größe:\t1\nזה 日本 👩‍👩‍👧 é"
    assert shown(text) == text

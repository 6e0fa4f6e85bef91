"""What the chat writes: colours in a terminal, plain lines everywhere else."""

import json
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from local.chat.api import Document, ListedThread, Memory, ThreadSummaries
from local.chat.events import (
    LIST,
    LOOKUP,
    SAVE_MEMORY,
    SEARCH,
    Cited,
    Event,
    LookedUp,
    MemorySaved,
    Searched,
    Token,
    ToolAnswered,
    ToolFailed,
    ToolStarted,
    TurnFailed,
)
from local.terminal import shown

_STARTED: Final = {
    SAVE_MEMORY: "saving to memory …",
    LOOKUP: "looking up earlier turns …",
    SEARCH: "searching your documents …",
    LIST: "looking at your list of documents …",
}
_QUOTED = 400


class View:
    """Writes to a console, nothing that a terminal would obey.

    Parameters
    ----------
    console : Console
        Knows whether it is a terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in_line = False

    def show(self, event: Event) -> None:
        """Show one event of a turn."""
        match event:
            case Token(text):
                self._write(text)
            case ToolStarted(name):
                self._line(Text(_STARTED.get(name, f"calling {name} …"), style="dim"))
            case MemorySaved():
                self._diff(event)
            case LookedUp(turns):
                for label, messages in turns:
                    for role, content in messages:
                        self._line(Text(f"  {label} {role}: {_cut(content)}", style="dim"))
            case Searched(count):
                self._line(Text(f"{count} passages found", style="dim"))
            case Cited(passages):
                for number, name, first, last in passages:
                    pages = f"page {first}" if first == last else f"pages {first}-{last}"
                    self._line(Text(f"  [{number}] {name}, {pages}", style="dim"))
            case ToolAnswered(name):
                self._line(Text(f"{name} answered", style="dim"))
            case ToolFailed(name, reason):
                self._line(Text(f"{name} failed: {reason}", style="red"))
            case TurnFailed(code, message):
                self._line(Text(f"This turn failed ({code}): {message}", style="red"))

    def end_turn(self) -> None:
        """Leave the line of the answer."""
        self._leave_line()

    def note(self, text: str) -> None:
        """Say something that is no answer."""
        self._line(Text(text, style="cyan"))

    def fault(self, text: str) -> None:
        """Say what went wrong."""
        self._line(Text(text, style="red"))

    def threads(self, threads: Sequence[ListedThread], current: str) -> None:
        """List threads, numbered for ``/open``."""
        if not threads:
            self.note("There are no threads yet.")
        for number, thread in enumerate(threads, start=1):
            mark = "*" if thread.id == current else " "
            name = thread.title or thread.preview or "(no name)"
            line = Text(f"{mark}{number:>3}  {_cut(name, 60)}")
            line.append(f"  {thread.updated_at[:16].replace('T', ' ')}  {thread.id}", style="dim")
            self._line(line)

    def document(self, document: Document) -> None:
        """Show how far a document has come."""
        line = Text(f"  {_cut(document.name, 60)}: {document.state}", style="red" if document.failed else "")
        if document.pages:
            line.append(f", {document.pages_done} of {document.pages} pages", style="dim")
        if document.chunks:
            line.append(f", {document.chunks_done} of {document.chunks} chunks", style="dim")
        if document.reason:
            line.append(f"  {document.reason}")
        self._line(line)

    def documents(self, documents: Sequence[Document]) -> None:
        """List documents."""
        if not documents:
            self.note("There are no documents yet. /upload PATH adds one.")
        for document in documents:
            self.document(document)

    def messages(self, messages: Sequence[tuple[str, str]]) -> None:
        """Show what was said in a thread."""
        for kind, text in messages:
            if kind in ("human", "ai"):
                self._line(
                    Text(
                        f"{'you' if kind == 'human' else 'assistant'}: {text}", style="bold" if kind == "human" else ""
                    )
                )

    def memory(self, memory: Memory) -> None:
        """Show the profile: the account's keys first, then what was saved, by name."""
        if not memory.merged:
            self.note("Nothing is known about you yet.")
        for key in [key for key in memory.merged if key not in memory.saved]:
            self._line(Text(f"  {key}: {_json(memory.merged[key])}").append("  from your account", style="dim"))
        for key in sorted(memory.saved):
            self._line(Text(f"  {key}: {_json(memory.saved[key])}").append("  saved by the assistant", style="dim"))

    def summaries(self, threads: Sequence[ThreadSummaries]) -> None:
        """Show the summaries exactly as the model reads them."""
        if not threads:
            self.note("Nothing has been summarised yet.")
        for thread in threads:
            self._line(Text(thread.title or thread.thread_id, style="bold"))
            for number, text in enumerate(thread.texts, start=1):
                self._line(Text(f"Summary {number}", style="dim"))
                self._line(Text(text))

    def _diff(self, saved: MemorySaved) -> None:
        added, updated, removed = saved.added(), saved.updated(), saved.removed()
        counts = [
            f"{len(of)} {word}" for of, word in ((added, "added"), (updated, "updated"), (removed, "removed")) if of
        ]
        self._line(Text(f"Memory: {', '.join(counts) or 'unchanged'}", style="bold magenta"))
        for key, value in added.items():
            self._line(Text(f"  + {key}: {_json(value)}", style="green"))
        for key, (old, new) in updated.items():
            line = Text(f"  ~ {key}: ", style="yellow").append(_json(old), style="strike")
            self._line(line.append(" → ").append(_json(new)))
        for key, value in removed.items():
            self._line(Text(f"  - {key}: ", style="red").append(_json(value), style="strike"))

    def _write(self, text: str) -> None:
        text = shown(text)
        self._console.out(text, end="", highlight=False)
        self._console.file.flush()
        self._in_line = not text.endswith("\n")

    def _line(self, text: Text) -> None:
        self._leave_line()
        text.plain = shown(text.plain)
        self._console.print(text, soft_wrap=True)

    def _leave_line(self) -> None:
        if self._in_line:
            self._console.out("")
            self._in_line = False


def _json(value: Any) -> str:  # noqa: ANN401 - any JSON
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, limit: int = _QUOTED) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"

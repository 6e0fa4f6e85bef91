"""The chat itself: a line is either a command or something to say."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from local.chat.api import ApiFault, ChatApi, Document, ListedThread
from local.chat.view import View

HELP: Final = """\
/new                 begin a new thread
/threads             list your threads
/open N              go on with thread N of the list (or a thread's id)
/profile             what is remembered about you
/upload PATH         add a file to your documents, which the assistant can search
/documents           list your documents and how far they have come
/summaries           the summaries of your threads, as the model reads them
/forget KEY          forget one thing about you
/forget --summaries  forget the summaries of this thread; later turns make new ones
/forget --thread     delete this thread with everything it has
/help                this
/quit                end"""


class Conversation:
    """One person's chat.

    Parameters
    ----------
    api : ChatApi
        The product.
    view : View
        The screen.
    """

    def __init__(self, api: ChatApi, view: View) -> None:
        self._api = api
        self._view = view
        self._thread = api.new_thread()
        self._listed: list[ListedThread] = []
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/new": self._new,
            "/threads": self._threads,
            "/open": self._open,
            "/profile": self._profile,
            "/upload": self._upload,
            "/documents": self._documents,
            "/summaries": self._summaries,
            "/forget": self._forget,
            "/help": self._help,
        }

    @property
    def commands(self) -> list[str]:
        """The commands there are."""
        return [*self._commands, "/quit"]

    async def hold(self, lines: AsyncIterator[str]) -> None:
        """Go on until there are no more lines, or ``/quit``."""
        async for line in lines:
            said = line.strip()
            if said == "/quit":
                return
            if said:
                try:
                    await self._take(said)
                except ApiFault as fault:
                    self._view.fault(str(fault))

    async def _take(self, said: str) -> None:
        if not said.startswith("/"):
            await self._say(said)
            return
        name, _, rest = said.partition(" ")
        command = self._commands.get(name)
        if command is None:
            self._view.fault(f"There is no {name}; /help tells what there is.")
        else:
            await command(rest.strip())

    async def _say(self, text: str) -> None:
        try:
            async for event in self._api.say(self._thread, text):
                self._view.show(event)
        finally:
            self._view.end_turn()

    async def _new(self, _rest: str) -> None:
        self._thread = self._api.new_thread()
        self._view.note("A new thread.")

    async def _threads(self, _rest: str) -> None:
        self._listed = await self._api.threads()
        self._view.threads(self._listed, self._thread)

    async def _open(self, which: str) -> None:
        if not self._listed:
            self._listed = await self._api.threads()
        chosen = self._chosen(which)
        if chosen is None:
            self._view.fault("Which thread? /threads numbers them.")
            return
        messages = await self._api.messages(chosen)
        self._thread = chosen
        self._view.messages(messages)

    def _chosen(self, which: str) -> str | None:
        if which.isdecimal():
            number = int(which)
            return self._listed[number - 1].id if 1 <= number <= len(self._listed) else None
        return which or None

    async def _profile(self, _rest: str) -> None:
        self._view.memory(await self._api.memory())

    async def _upload(self, path: str) -> None:
        # As a terminal puts a file that is dropped on it.
        named = path.strip("'\"").replace("\\ ", " ")
        if not named:
            self._view.fault("Upload which file? /upload PATH")
            return
        document: Document | None = None
        self._view.note(f"Uploading {Path(named).name} …")
        async for document in self._api.upload(Path(named)):
            self._view.document(document)
        if document is not None and not document.failed:
            self._view.note("It can be searched now: ask about it.")

    async def _documents(self, _rest: str) -> None:
        self._view.documents(await self._api.documents())

    async def _summaries(self, _rest: str) -> None:
        self._view.summaries(await self._api.summaries())

    async def _forget(self, what: str) -> None:
        if what == "--summaries":
            count = await self._api.forget_summaries(self._thread)
            if count:
                self._view.note(f"Forgotten: {count} {'summary' if count == 1 else 'summaries'} of this thread.")
            else:
                self._view.note("This thread has no summaries.")
        elif what == "--thread":
            await self._api.delete_thread(self._thread)
            self._listed = []
            self._thread = self._api.new_thread()
            self._view.note("This thread is deleted, with everything it had. What you say next begins a new one.")
        elif what:
            await self._api.forget_key(what)
            self._view.note(f"Forgotten: {what}.")
        else:
            self._view.fault("Forget what? /profile shows the keys.")

    async def _help(self, _rest: str) -> None:
        self._view.note(HELP)

"""Where the chat's lines come from: a prompt in a terminal, or whatever stdin is."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter

_LONGEST_LINE = 1024 * 1024


async def lines(commands: Iterable[str], stdin: TextIO = sys.stdin) -> AsyncIterator[str]:
    """Give what the person enters, line by line, until the end of input or Ctrl-C at the prompt."""
    if stdin.isatty():
        async for line in _prompted(commands):
            yield line
    else:
        async for line in _piped(stdin):
            yield line


async def _prompted(commands: Iterable[str]) -> AsyncIterator[str]:
    prompt: PromptSession[str] = PromptSession(
        completer=WordCompleter(sorted(commands), sentence=True), reserve_space_for_menu=4
    )
    while True:
        try:
            # Ctrl-C is a key here; as a signal it is the process's, which prompt_toolkit would take away for good.
            yield await prompt.prompt_async("you › ", handle_sigint=False)
        except (EOFError, KeyboardInterrupt):
            return


async def _piped(stdin: TextIO) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    try:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
    except (OSError, ValueError):
        # A file, which never keeps anybody waiting.
        for line in stdin:
            yield line.rstrip("\n")
        return
    try:
        while line := await reader.readline():
            yield line.decode("utf-8", "replace").rstrip("\n")
    finally:
        transport.close()

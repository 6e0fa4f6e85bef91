"""Where the chat's lines come from: a prompt in a terminal, or whatever stdin is."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter

_LONGEST_LINE = 1024 * 1024


def has_input(stdin: TextIO | None) -> bool:
    """Tell whether anything can come from ``stdin``: it is open, and not the null device."""
    if stdin is None or stdin.closed:
        return False
    found = os.fstat(stdin.fileno())
    return not (stat.S_ISCHR(found.st_mode) and found.st_rdev == Path(os.devnull).stat().st_rdev)


async def lines(commands: Iterable[str], stdin: TextIO = sys.stdin) -> AsyncIterator[str]:
    """Give what the person enters, line by line, until the end of input or Ctrl-C at the prompt."""
    if stdin.isatty():
        source = _prompted(commands)
    elif _is_piped(stdin):
        source = _piped(stdin)
    else:
        source = _read(stdin)
    async for line in source:
        yield line


def _is_piped(stdin: TextIO) -> bool:
    mode = os.fstat(stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _read(stdin: TextIO) -> AsyncIterator[str]:
    # A file or a device such as /dev/null, which never keep anybody waiting, and which no event loop can watch.
    for line in stdin:
        yield line.rstrip("\n")


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
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
    try:
        while line := await reader.readline():
            yield line.decode("utf-8", "replace").rstrip("\n")
    finally:
        transport.close()

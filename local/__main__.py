"""``python -m local [--no-chat]`` and ``python -m local reset``: what ``make local`` and ``make local-reset`` run."""

import argparse
import asyncio
import logging
import os
import shutil
import sys

from rich.console import Console

from local.chat.api import ChatApi
from local.chat.conversation import Conversation
from local.chat.lines import has_input, lines
from local.chat.token import FreshToken
from local.chat.view import View
from local.cloud.users import local_user
from local.faults import LocalFault
from local.layout import Layout
from local.product import LocalProduct, local_product
from local.settings import LocalSettings
from local.signals import until_signalled
from local.sole_use import sole_use
from local.steps import Steps
from local.terminal import shown

_MODELS = {
    "demo": "the demo model: rules, no language model, works offline. MODEL=openai or MODEL=bedrock bring a real one.",
    "openai": "an OpenAI-compatible server ({openai_model} at {openai_base_url})",
    "bedrock": "Amazon Bedrock, with your AWS credentials; it costs money",
    "scripted": "scripted replies, for tests",
}
_NO_INPUT = """\
There is no terminal here, and nothing to read instead: standard input is closed or empty.
For other clients, without a chat: .venv/bin/python -m local --no-chat
For a chat from a script: printf 'hello\\n/quit\\n' | make local"""


def main() -> int:
    """Run what was asked for; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m local", description="The whole product on this machine.")
    parser.add_argument("command", nargs="?", choices=["run", "reset"], default="run")
    parser.add_argument("--no-chat", action="store_true", help="serve until interrupted, for other clients")
    arguments = parser.parse_args()
    layout = Layout()
    log = Console(stderr=True, highlight=False)
    try:
        if arguments.command == "reset":
            with sole_use(layout):
                shutil.rmtree(layout.state)
            return 0
        settings = LocalSettings.from_environment(os.environ)
        if not arguments.no_chat and not has_input(sys.stdin):
            raise LocalFault(_NO_INPUT)
        asyncio.run(until_signalled(_run(settings, layout, log, chat=not arguments.no_chat)))
    except LocalFault as fault:
        log.print(shown(fault.explained()), style="red", markup=False, soft_wrap=True)
        return 1
    except asyncio.CancelledError:
        return 130
    return 0


async def _run(settings: LocalSettings, layout: Layout, log: Console, *, chat: bool) -> None:
    layout.logs.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=layout.logs / "local.log", level=logging.INFO)
    steps = Steps(log)
    async with steps, local_product(settings, layout, progress=steps.begin) as product:
        who = local_user(layout.user)
        await asyncio.to_thread(product.users.ensure, who)
        token = FreshToken(product.users, who)
        first = await token.token()
        steps.done()
        _tell(log, settings, product, first, chat=chat)
        async with ChatApi.connect(product.url, token) as api:
            # Nobody has to wait for that; whoever asks meanwhile waits with it.
            waking = asyncio.create_task(api.wake())
            try:
                if chat:
                    conversation = Conversation(api, View(Console(highlight=False)))
                    await conversation.hold(lines(conversation.commands))
                else:
                    await asyncio.get_running_loop().create_future()
            finally:
                waking.cancel()
        log.print("Stopping …", style="dim")


def _tell(log: Console, settings: LocalSettings, product: LocalProduct, token: str, *, chat: bool) -> None:
    model = _MODELS[settings.model].format(**settings.model_dump())
    log.print(f"\nModel: {model}", markup=False, soft_wrap=True)
    log.print(f"API for other clients (LangGraph SDK, useStream, curl): {product.url}", markup=False)
    log.print(f"Token, good for an hour: {token}", style="dim", markup=False, soft_wrap=True)
    log.print("/help tells what the chat can do.\n" if chat else "Ctrl-C ends it.", markup=False)


if __name__ == "__main__":
    sys.exit(main())

"""The local product as the person at the terminal has it: kept over restarts, and a chat that shows what happens."""

import io

import httpx
from rich.console import Console

from local.chat.api import ChatApi
from local.chat.conversation import Conversation
from local.chat.token import FreshToken
from local.chat.view import View
from local.cloud.users import Credentials


async def test_second_start_deploys_nothing_and_keeps_accounts_and_threads(people, restart):
    """At another port than the first."""
    first, second = restart.deployments
    assert first == second
    person = people.signed_in(restart.who)
    assert (await person.sdk.threads.get(restart.thread))["thread_id"] == restart.thread


async def test_queues_are_where_the_functions_are_told_and_where_their_messages_are_taken_from(
    product, people, restart, functions
):
    queue = product.deployment.outputs["PurgeQueueUrl"]
    assert f":{product.address.port}/" in queue
    before = functions.runs("PurgeFunction")
    threads = people.signed_in(restart.who).sdk.threads
    await threads.delete((await threads.create())["thread_id"])
    await functions.runs_reach("PurgeFunction", before + 1)


async def test_the_readmes_token_opens_every_route_and_an_access_token_none(product, restart):
    answered = product.users.client.admin_initiate_auth(
        UserPoolId=product.users.pool_id,
        ClientId=product.users.client_id,
        AuthFlow="ADMIN_USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": restart.who.email, "PASSWORD": restart.who.password},
    )["AuthenticationResult"]
    async with httpx.AsyncClient(base_url=product.url, trust_env=False, timeout=120) as http:
        for kind, status in (("IdToken", 200), ("AccessToken", 401)):
            headers = {"Authorization": f"Bearer {answered[kind]}"}
            for path in ("/api/memory/profile", f"/threads/{restart.thread}", f"/threads/{restart.thread}/state"):
                assert (await http.get(path, headers=headers)).status_code == status, (kind, path)


async def test_terminal_chat_shows_answers_saves_and_what_is_remembered(product, word):
    who = Credentials.new(f"{word}@everthread.test")
    product.users.ensure(who, name="Ada")
    console = Console(file=io.StringIO(), width=300)

    async def lines():
        # The demo source answers what no script fits.
        for line in (
            "I live in Lisbon",
            "I moved to Porto",
            "Where do I live?",
            "/new",
            "What do you know about me?",
            "/profile",
            "/forget location",
            "Where do I live?",
            "/threads",
        ):
            yield line

    async with ChatApi.connect(product.url, FreshToken(product.users, who)) as api:
        await Conversation(api, View(console)).hold(lines())
    shown = console.file.getvalue().splitlines()
    assert shown[:13] == [
        "saving to memory …",
        "Memory: 1 added",
        "  + location: Lisbon",
        "Noted: your location is Lisbon.",
        "saving to memory …",
        "Memory: 1 updated",
        "  ~ location: Lisbon → Porto",
        "Noted: your location is now Porto, no longer Lisbon.",
        "Your location: Porto.",
        "A new thread.",
        f"This is what I know about you: location: Porto; name: Ada; email: {who.email}.",
        "  name: Ada  from your account",
        f"  email: {who.email}  from your account",
    ]
    assert shown[13:16] == [
        "  location: Porto  saved by the assistant",
        "Forgotten: location.",
        "You have not told me your location.",
    ]
    assert [line[:4] for line in shown[16:]] == ["*  1", "   2"]

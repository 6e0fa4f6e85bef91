"""Nobody gets at what is somebody else's, and nobody gets anything without a token."""

from uuid import uuid4

import httpx
import pytest

from shared.adapters.routes import ROUTES

RUN = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Hi"}]}}
NOWHERE = str(uuid4())
BODIES = {
    "/threads/{thread_id}": {},
    "/threads/{thread_id}/history": {},
    "/threads/{thread_id}/runs/stream": RUN,
    "/threads/{thread_id}/runs/wait": RUN,
    "/threads/{thread_id}/state": {"values": {"messages": [{"role": "user", "content": "Mine now"}]}},
    "/threads/{thread_id}/state/checkpoint": {"checkpoint": {"checkpoint_id": NOWHERE}},
}
OF_A_THREAD = [route for route in ROUTES if "{thread_id}" in route.path]


def name(route) -> str:
    return f"{route.method} {route.path}"


def request(route, thread: str) -> dict:
    path = route.path.replace("{thread_id}", thread).replace("{key}", "tea")
    # The same ids for the foreign and the missing thread, so that their answers can be compared.
    path = path.replace("{checkpoint_id}", NOWHERE).replace("{run_id}", NOWHERE)
    body = BODIES.get(route.path) if route.method in ("POST", "PATCH") else None
    return {"method": route.method, "url": path, **({"json": body} if body is not None else {})}


@pytest.mark.parametrize("route", OF_A_THREAD, ids=name)
async def test_another_users_thread_is_a_missing_one(people, thread, route):
    ada, bob = people.someone(), people.someone()
    await ada.say(thread, "My own")
    missing = str(uuid4())
    foreign = await bob.http.request(**request(route, thread))
    absent = await bob.http.request(**request(route, missing))
    assert (foreign.status_code, foreign.text.replace(thread, missing)) == (absent.status_code, absent.text)
    assert foreign.status_code == 404
    assert len(await ada.messages(thread)) == 2


async def test_two_people_may_use_one_thread_id(people, thread):
    ada, bob = people.someone(), people.someone()
    await ada.say(thread, "From Ada")
    await bob.say(thread, "From Bob")
    assert [message["content"] for message in await ada.messages(thread) if message["type"] == "human"] == ["From Ada"]
    assert [message["content"] for message in await bob.messages(thread) if message["type"] == "human"] == ["From Bob"]


async def test_lists_hold_ones_own_threads_only(people, thread):
    ada, bob = people.someone(), people.someone()
    await ada.say(thread, "My own")
    assert [found["thread_id"] for found in await ada.sdk.threads.search()] == [thread]
    assert await bob.sdk.threads.search() == []


@pytest.mark.parametrize("token", [None, "Bearer nonsense"], ids=["none", "bad"])
@pytest.mark.parametrize("route", ROUTES, ids=name)
async def test_routes_need_a_token(product, route, token):
    headers = {"Origin": "https://example.com"} | ({} if token is None else {"Authorization": token})
    async with httpx.AsyncClient(base_url=product.url, headers=headers, trust_env=False, timeout=30) as anyone:
        answer = await anyone.request(**request(route, str(uuid4())))
    assert answer.status_code == (200 if route.public else 401)
    assert answer.headers["access-control-allow-origin"] == "*"

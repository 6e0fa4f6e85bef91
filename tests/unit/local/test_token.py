"""The chat's token is fresh whenever it is sent."""

import httpx
import pytest
from botocore.exceptions import ClientError

from local.chat.token import FreshToken
from local.cloud.users import Credentials, Tokens, local_user


class Users:
    """A pool whose tokens last an hour."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.log: list[str] = []
        self.refresh_ended = False

    def sign_in(self, who: Credentials) -> Tokens:
        return self._made("sign in")

    def refresh(self, tokens: Tokens) -> Tokens:
        if self.refresh_ended:
            raise ClientError({"Error": {"Code": "NotAuthorizedException", "Message": ""}}, "InitiateAuth")
        return self._made("refresh")

    def _made(self, how: str) -> Tokens:
        self.log.append(how)
        return Tokens(f"token-{len(self.log)}", "refresh", self.now + 3600)


@pytest.fixture
def users() -> Users:
    return Users()


def auth(users: Users) -> FreshToken:
    return FreshToken(users, Credentials("a@b.c", "p"), now=lambda: users.now)  # pyright: ignore[reportArgumentType]


async def test_one_token_serves_until_shortly_before_its_end(users):
    fresh = auth(users)
    assert [await fresh.token() for _ in range(3)] == ["token-1"] * 3
    users.now += 3600 - 60
    assert await fresh.token() == "token-2"
    assert users.log == ["sign in", "refresh"]


async def test_when_the_refresh_token_has_ended_the_person_signs_in_again(users):
    fresh = auth(users)
    await fresh.token()
    users.now += 4000
    users.refresh_ended = True
    assert await fresh.token() == "token-2"
    assert users.log == ["sign in", "sign in"]


async def test_refused_token_is_replaced_once(users):
    seen: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(401 if len(seen) == 1 else 200)

    async with httpx.AsyncClient(transport=httpx.MockTransport(respond), auth=auth(users)) as http:
        assert (await http.get("http://127.0.0.1/")).status_code == 200
    assert seen == ["Bearer token-1", "Bearer token-2"]


async def test_token_that_is_refused_twice_is_given_up(users):
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _request: httpx.Response(401)), auth=auth(users)
    ) as http:
        assert (await http.get("http://127.0.0.1/")).status_code == 401
    assert users.log == ["sign in", "refresh"]


def test_local_user_is_made_up_once_and_is_theirs_alone(tmp_path):
    path = tmp_path / "user.json"
    first = local_user(path)
    assert local_user(path) == first
    assert path.stat().st_mode & 0o777 == 0o600
    assert local_user(tmp_path / "other.json").password != first.password

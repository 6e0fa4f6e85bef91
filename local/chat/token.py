"""A token that is always fresh: what the requests of the chat carry."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from time import time
from typing import Final

import httpx
from botocore.exceptions import ClientError

from local.cloud.users import Credentials, Tokens, UserPool

_MARGIN_SECONDS: Final = 120.0


class FreshToken(httpx.Auth):
    """Puts an ID token into each request, refreshed before it ends and once more when it is refused.

    Parameters
    ----------
    users : UserPool
        Where to sign in.
    who : Credentials
        As whom, when there is nothing to refresh (any more).
    now : callable
        The present moment in epoch seconds.
    """

    def __init__(self, users: UserPool, who: Credentials, *, now: Callable[[], float] = time) -> None:
        self._users = users
        self._who = who
        self._now = now
        self._tokens: Tokens | None = None
        self._lock = asyncio.Lock()

    async def token(self, *, refused: str | None = None) -> str:
        """Give an ID token that lasts a while yet; not the one that was ``refused``."""
        async with self._lock:
            tokens = self._tokens
            if tokens is None or tokens.expires_at - self._now() < _MARGIN_SECONDS or tokens.id_token == refused:
                tokens = self._tokens = await asyncio.to_thread(self._renewed, tokens)
            return tokens.id_token

    def _renewed(self, tokens: Tokens | None) -> Tokens:
        if tokens is not None and tokens.refresh_token:
            try:
                return self._users.refresh(tokens)
            except ClientError:
                pass  # the refresh token has ended too
        return self._users.sign_in(self._who)

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sign the request; sign it anew when the server refuses the token."""
        token = await self.token()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            request.headers["Authorization"] = f"Bearer {await self.token(refused=token)}"
            yield request

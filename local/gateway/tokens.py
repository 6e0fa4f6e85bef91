"""The Cognito authorizer of a REST API: whose ID token this is, or none."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import httpx
import jwt

_REFETCH_SECONDS = 5.0


@dataclass(slots=True)
class TokenVerifier:
    """Verifies ID tokens of one user pool with the pool's own keys.

    Parameters
    ----------
    pool_id : str
        The user pool.
    cloud_url : str
        Where the local cloud serves the pool's keys.
    client : httpx.AsyncClient
        Fetches them.
    """

    pool_id: str
    cloud_url: str
    client: httpx.AsyncClient
    _keys: dict[str, jwt.PyJWK] = field(default_factory=dict[str, jwt.PyJWK], init=False)
    _fetched_at: float = field(default=float("-inf"), init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def issuer(self) -> str:
        """What the pool writes into its tokens."""
        region = self.pool_id.split("_", 1)[0]
        return f"https://cognito-idp.{region}.amazonaws.com/{self.pool_id}"

    async def claims(self, authorization: str | None) -> dict[str, str] | None:
        """Give the claims of a valid ID token as API Gateway hands them to a function: every one a string.

        Parameters
        ----------
        authorization : str or None
            The header, with or without ``Bearer``.

        Returns
        -------
        dict or None
            ``None`` for anything but a living ID token of this pool.
        """
        token = (authorization or "").removeprefix("Bearer ").strip()
        try:
            key = await self._key(jwt.get_unverified_header(token).get("kid", ""))
            if key is None:
                return None
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                issuer=self.issuer,
                options={"verify_aud": False, "require": ["exp", "iss", "sub"]},
            )
        except jwt.PyJWTError:
            return None
        if claims.get("token_use") != "id":
            return None
        return {name: _as_text(value) for name, value in claims.items() if value is not None}

    async def _key(self, key_id: str) -> jwt.PyJWK | None:
        async with self._lock:
            if key_id not in self._keys and monotonic() - self._fetched_at > _REFETCH_SECONDS:
                self._fetched_at = monotonic()
                response = await self.client.get(f"{self.cloud_url}/{self.pool_id}/.well-known/jwks.json")
                keys: list[Mapping[str, Any]] = response.raise_for_status().json()["keys"]
                self._keys = {key["kid"]: jwt.PyJWK(dict(key)) for key in keys}
        return self._keys.get(key_id)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))

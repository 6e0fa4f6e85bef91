"""Which tokens open the gateway, with keys as a user pool publishes them."""

import time
from contextlib import asynccontextmanager

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from local.gateway.tokens import TokenVerifier

POOL = "eu-central-1_abc"
ISSUER = f"https://cognito-idp.eu-central-1.amazonaws.com/{POOL}"


class Pool:
    """A user pool's keys and the tokens it signs."""

    def __init__(self) -> None:
        self.keys: dict[str, rsa.RSAPrivateKey] = {}
        self.fetched = 0
        self.rotate("one")

    def rotate(self, key_id: str) -> None:
        self.keys[key_id] = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(self, key_id="one", key=None, algorithm="RS256", **claims) -> str:
        now = int(time.time())
        body = {"sub": "ada", "iss": ISSUER, "token_use": "id", "iat": now, "exp": now + 3600, "aud": "app", **claims}
        body = {name: value for name, value in body.items() if value is not None}
        return jwt.encode(body, key or self.keys[key_id], algorithm=algorithm, headers={"kid": key_id})

    def respond(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == f"/{POOL}/.well-known/jwks.json"
        self.fetched += 1
        published = [
            jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": key_id, "alg": "RS256"}
            for key_id, key in self.keys.items()
        ]
        return httpx.Response(200, json={"keys": published})


@asynccontextmanager
async def verifier(pool: Pool):
    async with httpx.AsyncClient(transport=httpx.MockTransport(pool.respond)) as client:
        yield TokenVerifier(POOL, "http://127.0.0.1:1", client)


@pytest.mark.parametrize("prefix", ["", "Bearer "])
async def test_id_token_gives_its_claims_as_text(prefix):
    pool = Pool()
    token = pool.token(
        email_verified=True, **{"cognito:groups": ["admin", "staff"], "identities": [{"providerName": "G"}]}
    )
    async with verifier(pool) as tokens:
        claims = await tokens.claims(prefix + token)
    assert claims is not None
    assert claims["sub"] == "ada"
    assert claims["email_verified"] == "true"
    assert claims["cognito:groups"] == "admin,staff"
    assert claims["identities"] == '[{"providerName":"G"}]'
    assert all(isinstance(value, str) for value in claims.values())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"exp": 1}, id="expired"),
        pytest.param({"exp": None}, id="without end"),
        pytest.param({"sub": None}, id="of nobody"),
        pytest.param({"iss": ISSUER + "x"}, id="of another pool"),
        pytest.param({"token_use": "access"}, id="access token"),
        pytest.param({"key": rsa.generate_private_key(public_exponent=65537, key_size=2048)}, id="forged"),
        pytest.param({"key": "secret" * 8, "algorithm": "HS256"}, id="other algorithm"),
    ],
)
async def test_other_tokens_open_nothing(changed):
    pool = Pool()
    async with verifier(pool) as tokens:
        assert await tokens.claims(pool.token(**changed)) is None


@pytest.mark.parametrize("header", [None, "", "Bearer", "nonsense", "a.b.c", "Basic YTpi"])
async def test_what_is_no_token_opens_nothing(header):
    async with verifier(Pool()) as tokens:
        assert await tokens.claims(header) is None


async def test_keys_are_fetched_once_and_again_only_for_a_new_key(monkeypatch):
    pool = Pool()
    now = 100.0
    monkeypatch.setattr("local.gateway.tokens.monotonic", lambda: now)
    async with verifier(pool) as tokens:
        for _ in range(3):
            assert await tokens.claims(pool.token())
        assert pool.fetched == 1
        pool.rotate("two")
        assert await tokens.claims(pool.token("two")) is None
        now += 10
        assert await tokens.claims(pool.token("two"))
        assert pool.fetched == 2

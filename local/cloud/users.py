"""People in the deployed user pool: made by an administrator, signing in as any client does."""

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from time import time
from typing import Any

from botocore.exceptions import ClientError


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a person signs in with."""

    email: str
    password: str

    @classmethod
    def new(cls, email: str) -> "Credentials":
        """Make up a password that every pool takes."""
        return cls(email, f"{secrets.token_urlsafe(24)}aA1!")


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the pool gave.

    Parameters
    ----------
    id_token, refresh_token : str
        As JWT, and opaque.
    expires_at : float
        Epoch seconds of the ID token's end.
    """

    id_token: str
    refresh_token: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class UserPool:
    """The deployed pool.

    Parameters
    ----------
    client : boto3 client
        Of ``cognito-idp`` on the local cloud.
    pool_id, client_id : str
        As deployed.
    """

    client: Any
    pool_id: str
    client_id: str

    def ensure(self, who: Credentials, *, name: str | None = None) -> None:
        """Make the person if there is none with this address; the password is theirs from the start."""
        attributes = [{"Name": "email", "Value": who.email}, {"Name": "email_verified", "Value": "true"}]
        if name is not None:
            attributes.append({"Name": "name", "Value": name})
        try:
            self.client.admin_create_user(
                UserPoolId=self.pool_id, Username=who.email, UserAttributes=attributes, MessageAction="SUPPRESS"
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "UsernameExistsException":
                raise
        self.client.admin_set_user_password(
            UserPoolId=self.pool_id, Username=who.email, Password=who.password, Permanent=True
        )

    def sign_in(self, who: Credentials) -> Tokens:
        """Sign in with name and password."""
        return self._tokens("USER_PASSWORD_AUTH", {"USERNAME": who.email, "PASSWORD": who.password}, refresh_token="")

    def refresh(self, tokens: Tokens) -> Tokens:
        """Get a new ID token for the refresh token."""
        return self._tokens(
            "REFRESH_TOKEN_AUTH", {"REFRESH_TOKEN": tokens.refresh_token}, refresh_token=tokens.refresh_token
        )

    def _tokens(self, flow: str, parameters: dict[str, str], *, refresh_token: str) -> Tokens:
        result = self.client.initiate_auth(ClientId=self.client_id, AuthFlow=flow, AuthParameters=parameters)[
            "AuthenticationResult"
        ]
        return Tokens(
            id_token=result["IdToken"],
            refresh_token=result.get("RefreshToken", refresh_token),
            expires_at=time() + result["ExpiresIn"],
        )


def local_user(path: Path, email: str = "you@everthread.test") -> Credentials:
    """Give the credentials of the person at this terminal, made up once and kept in a file of theirs."""
    try:
        return Credentials(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        who = Credentials.new(email)
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(who)), encoding="utf-8")
        return who

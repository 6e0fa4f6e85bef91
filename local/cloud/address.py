"""How the local cloud is reached, and nothing but the local cloud."""

from dataclasses import dataclass
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.session import Session

from local.loopback import require_loopback

REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
"""The emulator's default account."""

# Where botocore would look for profiles: a setting of this machine must not change what is spoken to.
_NO_PROFILES: Final = {
    "profile": (None, [], None, None),
    "config_file": (None, [], "/dev/null", None),
    "credentials_file": (None, [], "/dev/null", None),
}


@dataclass(frozen=True, slots=True)
class CloudAddress:
    """Where the local cloud is.

    Parameters
    ----------
    port : int
        On loopback.
    """

    port: int

    @property
    def url(self) -> str:
        """The one endpoint of every service."""
        return require_loopback(f"http://127.0.0.1:{self.port}")

    def environment(self) -> dict[str, str]:
        """Give the variables by which every AWS SDK and CDK speak to the local cloud and to nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            # Without these a profile on this machine could change what is spoken to.
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str) -> Any:  # noqa: ANN401 - each service has a type of its own
        """Make a client of one service of the local cloud."""
        session = boto3.Session(
            botocore_session=Session(session_vars=_NO_PROFILES),
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 - the emulator takes any
            region_name=REGION,
        )
        return session.client(
            service,
            endpoint_url=self.url,
            config=Config(retries={"mode": "standard", "total_max_attempts": 3}, read_timeout=60, proxies={}),
        )

"""What is deployed: the real stacks, by the real CDK, only when something has changed."""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from botocore.exceptions import BotoCoreError, ClientError

from local.cloud.address import ACCOUNT, REGION, CloudAddress
from local.faults import LocalFault
from local.layout import REPOSITORY, Layout
from local.programs import child_environment, program, run

STAGE: Final = "local"
SERVICE_STACK: Final = f"everthread-{STAGE}-service"

_SOURCES: Final = ("infra", "shared", "functions")
_SOURCE_FILES: Final = ("cdk.json", "package-lock.json", "pyproject.toml")
_BOOTSTRAP_STACK: Final = "CDKToolkit"


@dataclass(frozen=True, slots=True)
class Deployment:
    """The deployed stacks, by their outputs.

    Parameters
    ----------
    outputs : mapping
        Name of the output to its value, of all stacks.
    assembly : Path
        The templates that were deployed.
    """

    outputs: Mapping[str, str]
    assembly: Path

    @classmethod
    def read(cls, layout: Layout) -> Self:
        """Read what CDK wrote down.

        Raises
        ------
        LocalFault
            When there is nothing to read.
        """
        try:
            stacks: dict[str, dict[str, str]] = json.loads(layout.outputs.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LocalFault("The deployment left no outputs; `make local-reset` starts afresh.") from error
        return cls({name: value for outputs in stacks.values() for name, value in outputs.items()}, layout.assembly)

    @property
    def user_pool_id(self) -> str:
        """The user pool."""
        return self.outputs["UserPoolId"]

    @property
    def user_pool_client_id(self) -> str:
        """The client that people sign in with."""
        return self.outputs["UserPoolClientId"]

    @property
    def api_id(self) -> str:
        """The REST API; its URL begins with its id."""
        return self.outputs["ApiUrl"].split("//", 1)[1].split(".", 1)[0]

    def api_url(self, address: CloudAddress) -> str:
        """Where the local cloud serves the API; ends with a slash."""
        return f"{address.url}/_aws/execute-api/{self.api_id}/{STAGE}/"


def is_current(layout: Layout, address: CloudAddress, digest: str) -> bool:
    """Tell whether exactly this is deployed: by our note, and by what the local cloud says."""
    try:
        if layout.deployed.read_text(encoding="utf-8") != digest:
            return False
    except OSError:
        return False
    return layout.outputs.exists() and layout.assembly.exists() and _stack_stands(address, SERVICE_STACK)


async def synthesize(layout: Layout, context: Mapping[str, str]) -> None:
    """Build the bundles and the templates.

    Raises
    ------
    CommandFault
        When either fails.
    """
    program("node")
    # From here on the templates are no longer those that are deployed.
    layout.deployed.unlink(missing_ok=True)
    command = [program("cdk"), "synth", "--quiet", "--no-notices", "--output", str(layout.assembly), *_context(context)]
    log = layout.logs / "synth.log"
    await run(command, cwd=REPOSITORY, env=_cdk_environment({}), log=log, what="Building the functions and templates")


async def bootstrap(layout: Layout, address: CloudAddress) -> None:
    """Prepare the local cloud for CDK, unless that was done.

    Raises
    ------
    CommandFault
        When it fails.
    """
    if _stack_stands(address, _BOOTSTRAP_STACK):
        return
    # In a folder without cdk.json, or CDK synthesises the app for nothing.
    command = [program("cdk"), "bootstrap", f"aws://{ACCOUNT}/{REGION}", "--no-notices"]
    await run(
        command,
        cwd=layout.scratch,
        env=_cdk_environment(address.environment()),
        log=layout.logs / "bootstrap.log",
        what="Preparing the local cloud",
    )


async def deploy(layout: Layout, address: CloudAddress) -> None:
    """Deploy what :func:`synthesize` made.

    Raises
    ------
    CommandFault
        When it fails.
    """
    command = [program("cdk"), "deploy", "--all", "--app", str(layout.assembly), "--require-approval", "never"]
    command += ["--outputs-file", str(layout.outputs), "--progress", "events", "--no-notices"]
    await run(
        command,
        cwd=layout.scratch,
        env=_cdk_environment(address.environment()),
        log=layout.logs / "deploy.log",
        what="The deployment to the local cloud",
    )


def digest_of(context: Mapping[str, str], root: Path = REPOSITORY) -> str:
    """Give a digest of everything a deployment depends on: equal digests, equal deployments."""
    digest = hashlib.sha256()
    for text in (sys.version, platform.machine(), json.dumps(dict(context), sort_keys=True)):
        digest.update(text.encode() + b"\0")
    for path in _sources(root):
        digest.update(str(path.relative_to(root)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _sources(root: Path) -> Iterator[Path]:
    for name in _SOURCES:
        yield from sorted(
            path for path in (root / name).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        )
    yield from sorted((root / "requirements").glob("*.txt"))
    yield from (root / name for name in _SOURCE_FILES if (root / name).exists())


def _context(context: Mapping[str, str]) -> list[str]:
    pairs = {"stage": STAGE, "python": sys.executable, **context}
    return [part for name, value in pairs.items() for part in ("--context", f"{name}={value}")]


def _cdk_environment(extra: Mapping[str, str]) -> dict[str, str]:
    quiet = {
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "1",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
    }
    return child_environment(os.environ, {**quiet, "AWS_EC2_METADATA_DISABLED": "true", **extra})


def _stack_stands(address: CloudAddress, name: str) -> bool:
    client: Any = address.client("cloudformation")
    try:
        (stack,) = client.describe_stacks(StackName=name)["Stacks"]
    except (ClientError, BotoCoreError):
        return False
    finally:
        client.close()
    return stack["StackStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE")

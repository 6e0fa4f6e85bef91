"""The CDK app: ``cdk deploy -c stage=dev``.

Bundles are built as part of it, so that what is deployed is always what is in the tree. Its context (``-c``) is
everything in :data:`infra.stages.CONTEXT`, and

``bundles``
    ``lambda``, ``local`` (what the local cloud runs) or ``none`` for templates only.
``python``
    For local bundles: the interpreter that runs them.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from aws_cdk import App, Environment, Tags

from infra import bundling, nag
from infra.bundling import Bundle
from infra.stacks.data_stack import DataStack
from infra.stacks.service_stack import ServiceStack
from infra.stages import CONTEXT, DEFAULT_REGION, LOCAL, Stage, stage_of


def everthread(
    app: App, stage: Stage, bundle_of: Callable[[str], Bundle], *, environment: Environment | None = None
) -> tuple[DataStack, ServiceStack]:
    """Put one deployment's stacks into an app.

    Parameters
    ----------
    app : App
        Whose they are.
    stage : Stage
        Which deployment.
    bundle_of : callable
        Gives the code of a function by the name of its package.
    environment : Environment or None
        Account and region, when they are known.
    """
    data = DataStack(app, "Data", stage=stage, env=environment)
    service = ServiceStack(app, "Service", stage=stage, data=data, bundle_of=bundle_of, env=environment)
    Tags.of(app).add("product", "everthread")
    Tags.of(app).add("stage", stage.name)
    nag.check(app, data, service)
    return data, service


def no_code(folder: Path) -> Callable[[str], Bundle]:
    """Give every function the same empty code: for templates that are read, not deployed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README").write_text("Templates only: this is no code.\n", encoding="utf-8")
    return lambda _name: Bundle(folder, "0" * 64)


def main() -> None:
    """Synthesise the app that the CDK command line asked for."""
    app = App()
    context = {name: value for name in CONTEXT if (value := app.node.try_get_context(name)) is not None}
    stage = stage_of(context, region=os.environ.get("CDK_DEFAULT_REGION", DEFAULT_REGION))
    target = app.node.try_get_context("bundles") or (LOCAL if stage.is_local else bundling.LAMBDA)
    python = app.node.try_get_context("python")
    bundle_of = (
        no_code(bundling.BUILD / "none")
        if target == "none"
        else bundling.bundles(target, Path(python) if python else None)
    )
    everthread(app, stage, bundle_of)
    app.synth()


if __name__ == "__main__":
    sys.exit(main())

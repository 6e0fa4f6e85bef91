"""Synthesises each stage at most once a session: it takes seconds."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.infra.templates import Synthesised


@pytest.fixture(scope="session")
def synthesise(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Synthesised]:
    """Give the templates of a stage; every finding of cdk-nag that is not accepted fails it."""
    from aws_cdk import App

    from infra.app import everthread, no_code
    from infra.stages import stage_of

    settings = json.loads(Path("cdk.json").read_text(encoding="utf-8"))["context"]

    @cache
    def of_stage(name: str) -> Synthesised:
        folder = tmp_path_factory.mktemp(name)
        app = App(outdir=str(folder / "out"), context=settings)
        stage = stage_of({"stage": name}, region="eu-west-1")
        everthread(app, stage, no_code(folder / "code"))
        app.synth()
        read = {
            stack: json.loads((folder / "out" / f"{stack}.template.json").read_text(encoding="utf-8"))
            for stack in ("Data", "Service")
        }
        return Synthesised(stage=stage, folder=folder / "out", data=read["Data"], service=read["Service"])

    return of_stage


@pytest.fixture(scope="session")
def prod(synthesise: Callable[[str], Synthesised]) -> Synthesised:
    return synthesise("prod")


@pytest.fixture(scope="session")
def dev(synthesise: Callable[[str], Synthesised]) -> Synthesised:
    return synthesise("dev")


@pytest.fixture(scope="session")
def local(synthesise: Callable[[str], Synthesised]) -> Synthesised:
    return synthesise("local")

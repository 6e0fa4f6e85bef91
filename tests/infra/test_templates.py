"""What tools say about the templates."""

import json
from pathlib import Path

import pytest
from cfnlint import api as cfnlint
from cfnlint.config import ManualArgs

from tests.infra.templates import Synthesised


@pytest.mark.parametrize("stage", ["prod", "dev", "local"])
def test_cfn_lint_has_nothing_to_say(request: pytest.FixtureRequest, stage: str) -> None:
    synthesised: Synthesised = request.getfixturevalue(stage)
    # As .cfnlintrc: CDK writes dependencies that a reference already makes.
    config = ManualArgs(regions=["us-east-1", "eu-west-1"], ignore_checks=["W3005"])
    for stack in ("Data", "Service"):
        text = (synthesised.folder / f"{stack}.template.json").read_text(encoding="utf-8")
        assert [str(finding) for finding in cfnlint.lint(text, config=config)] == []


def test_cdk_nag_ran_and_had_nothing_left_to_say(prod: Synthesised) -> None:
    report = json.loads((prod.folder / "validation-report.json").read_text(encoding="utf-8"))
    nag = next(plugin for plugin in report["pluginReports"] if plugin["pluginName"] == "AwsSolutions")
    assert nag["conclusion"] == "success"
    assert [violation["ruleName"] for violation in nag["violations"]] == []


def test_what_is_accepted_has_a_reason() -> None:
    from infra import nag

    reasons = [value for name, value in vars(nag).items() if name.startswith("_") and name.isupper()]
    assert reasons
    assert all(len(reason.split()) > 5 for reason in reasons)


def test_cdk_runs_the_app_of_this_tree() -> None:
    assert json.loads(Path("cdk.json").read_text(encoding="utf-8"))["app"] == "python -m infra.app"

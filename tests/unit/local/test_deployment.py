"""When a deployment is needed, and what one leaves behind."""

import json

import pytest

from local.cloud.address import CloudAddress
from local.cloud.deployment import Deployment, digest_of, is_current
from local.faults import LocalFault
from local.layout import Layout
from local.loopback import free_port

ADDRESS = CloudAddress(4566)


@pytest.fixture
def root(tmp_path):
    for name in (
        "infra/app.py",
        "shared/domain/ids.py",
        "functions/chat/bootstrap",
        "requirements/chat.txt",
        "cdk.json",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    "changed", ["infra/app.py", "shared/domain/ids.py", "functions/chat/bootstrap", "requirements/chat.txt", "cdk.json"]
)
def test_every_source_counts(root, changed):
    before = digest_of({}, root)
    (root / changed).write_text("other")
    assert digest_of({}, root) != before


def test_new_and_moved_files_count(root):
    before = digest_of({}, root)
    (root / "shared" / "new.py").write_text("")
    added = digest_of({}, root)
    (root / "shared" / "new.py").rename(root / "shared" / "newer.py")
    assert len({before, added, digest_of({}, root)}) == 3


def test_context_counts(root):
    assert digest_of({}, root) != digest_of({"keep_recent": "3"}, root)


def test_what_python_writes_beside_the_sources_does_not_count(root):
    before = digest_of({}, root)
    cache = root / "shared" / "__pycache__" / "ids.pyc"
    cache.parent.mkdir()
    cache.write_text("compiled")
    (root / "README.md").write_text("words")
    assert digest_of({}, root) == before


def test_note_of_a_deployment_is_not_believed_when_the_cloud_has_none(tmp_path):
    layout = Layout(tmp_path)
    layout.assembly.mkdir(parents=True)
    layout.outputs.write_text("{}")
    layout.deployed.write_text("digest")
    assert not is_current(layout, CloudAddress(free_port()), "digest")


def test_outputs_of_all_stacks_are_read(tmp_path):
    layout = Layout(tmp_path)
    layout.outputs.write_text(
        json.dumps(
            {
                "data": {"UserPoolId": "pool", "UserPoolClientId": "client"},
                "service": {"ApiUrl": "https://abc123.execute-api.us-east-1.amazonaws.com/local/"},
            }
        )
    )
    deployment = Deployment.read(layout)
    assert (deployment.user_pool_id, deployment.user_pool_client_id, deployment.api_id) == ("pool", "client", "abc123")
    assert deployment.api_url(ADDRESS) == "http://127.0.0.1:4566/_aws/execute-api/abc123/local/"


def test_missing_outputs_are_said_with_what_to_do(tmp_path):
    with pytest.raises(LocalFault, match="make local-reset"):
        Deployment.read(Layout(tmp_path))

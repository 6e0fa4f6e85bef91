"""Nothing leaves this machine."""

import pytest

from local.cloud.address import CloudAddress
from local.faults import PortTakenFault
from local.loopback import NotLoopbackError, free_port, is_taken, require_loopback
from local.serving import listen


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://localhost/x", "http://[::1]:4", "https://127.1.2.3"])
def test_this_machine_is_taken(url):
    assert require_loopback(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1",
        "http://0.0.0.0:4566",
        "http://localhost.example.com",
        "http://127.0.0.1@example.com",
        "http://example.com#127.0.0.1",
        "127.0.0.1:80",
        "",
    ],
)
def test_anything_else_is_refused(url):
    with pytest.raises(NotLoopbackError):
        require_loopback(url)


def test_cloud_is_spoken_to_on_loopback_whatever_the_machine_is_set_to(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://example.com")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    client = CloudAddress(4566).client("sqs")
    assert client.meta.endpoint_url == "http://127.0.0.1:4566"
    client.close()
    assert "AWS_PROFILE" not in CloudAddress(4566).environment()


def test_taken_port_is_said_with_the_variable_that_changes_it():
    taken = listen(0, "")
    port = taken.getsockname()[1]
    with pytest.raises(PortTakenFault, match=f"Port {port} is taken.*LOCAL_PORT"):
        listen(port, "LOCAL_PORT")
    taken.close()


def test_free_port_is_free():
    assert not is_taken(free_port())

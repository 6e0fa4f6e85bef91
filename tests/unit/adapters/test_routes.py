import pytest

from shared.adapters.routes import ROUTES, TransferMode, find_route

THREAD = "/threads/0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_found_by_its_template(route):
    assert find_route(route.method, route.path) == route


@pytest.mark.parametrize(
    ("method", "path", "template"),
    [
        ("POST", f"{THREAD}/runs/stream", "/threads/{thread_id}/runs/stream"),
        ("GET", THREAD, "/threads/{thread_id}"),
        ("POST", "/threads/search", "/threads/search"),
        ("DELETE", "/api/memory/profile/name", "/api/memory/profile/{key}"),
    ],
)
def test_a_path_finds_its_route(method, path, template):
    assert find_route(method, path).path == template


@pytest.mark.parametrize(("method", "path"), [("PUT", THREAD), ("GET", f"{THREAD}/"), ("GET", "/threads/a/b/c/d")])
def test_other_paths_find_none(method, path):
    assert find_route(method, path) is None


def test_no_route_writes_profile_keys():
    """AP16: only the tool writes."""
    assert {route.method for route in ROUTES if route.path.startswith("/api/memory")} == {"GET", "DELETE"}


def test_what_answers_with_an_empty_body_is_buffered():
    """A streamed response without a body hangs, and DELETE answers 204."""
    assert all(route.mode is TransferMode.BUFFERED for route in ROUTES if route.method == "DELETE")

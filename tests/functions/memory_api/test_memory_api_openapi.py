"""The committed OpenAPI document is the app's own."""

from functions.memory_api.openapi import DOCUMENT, document, text
from shared.adapters.routes import routes_of


def test_the_committed_document_is_up_to_date():
    # HID-34
    assert DOCUMENT.read_text(encoding="utf-8") == text(), "run: python -m functions.memory_api.openapi"


def test_it_is_the_same_every_time():
    assert text() == text()


def test_it_describes_each_route_and_its_errors():
    paths = document()["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described == {(route.method, route.path) for route in routes_of("memory_api")}
    for methods in paths.values():
        for operation in methods.values():
            assert operation["summary"].endswith(".")
            assert "422" not in operation["responses"]
            schema = operation["responses"]["401"]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorBody"}

from collections.abc import Iterator

import pytest

from shared.adapters.langgraph_api.run_errors import error_data
from shared.domain.errors import LeaseLostError, ModelError, StoreError


def with_children(kind: type[ModelError]) -> Iterator[type[ModelError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from with_children(child)


@pytest.mark.parametrize("kind", [*with_children(ModelError), StoreError, LeaseLostError])
def test_what_can_end_a_run_is_told_in_words_of_its_own(kind):
    data = error_data(kind.code)
    assert data["error"] == kind.code
    assert data["message"] != error_data("no such code")["message"]

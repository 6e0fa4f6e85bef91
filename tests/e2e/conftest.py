"""One deployment for all tests here; people, scripts and gates of each test are its own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from local.product import LocalProduct
from tests.e2e.functions import Functions
from tests.e2e.model import Model
from tests.e2e.people import People
from tests.e2e.stack import running
from tests.e2e.turn_ends import TurnEnds

KEEP_RECENT = 3
BUFFER_TURNS = 1

# The first test waits for the deployment.
_SECONDS = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalProduct]:
    context = {"keep_recent": str(KEEP_RECENT), "buffer_turns": str(BUFFER_TURNS)}
    with running(tmp_path_factory.mktemp("local"), context) as started:
        yield started


@pytest.fixture(scope="session")
def turn_ends(product: LocalProduct) -> Iterator[TurnEnds]:
    seen = TurnEnds(product)
    yield seen
    seen.close()


@pytest.fixture(scope="session")
def functions(product: LocalProduct) -> Iterator[Functions]:
    counted = Functions(product)
    yield counted
    counted.close()


@pytest.fixture
async def people(product: LocalProduct) -> AsyncIterator[People]:
    made = People(product)
    yield made
    await made.close()


@pytest.fixture
async def model(product: LocalProduct) -> AsyncIterator[Model]:
    async with httpx.AsyncClient(base_url=product.model_url, trust_env=False) as http:
        yield Model(http)


@pytest.fixture
def thread() -> str:
    return str(uuid4())


@pytest.fixture
def word() -> str:
    """A word that no other test says, so that scripts and recorded requests can be told apart."""
    return f"w{uuid4().hex[:12]}"

"""One deployment for all tests here; people, scripts and gates of each test are its own."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from local.cloud.users import Credentials
from local.layout import Layout
from local.loopback import free_port
from local.product import LocalProduct
from tests.e2e.added_agent import with_agent
from tests.e2e.functions import Functions
from tests.e2e.model import Model
from tests.e2e.people import People
from tests.e2e.stack import running, running_beside
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


@dataclass(frozen=True)
class Restart:
    """What there was before the product was stopped and started again.

    Parameters
    ----------
    who : Credentials
        Somebody with an account.
    thread : str
        A thread of theirs.
    deployments : tuple of int
        When CDK last deployed: after the first start, and after the second.
    """

    who: Credentials
    thread: str
    deployments: tuple[int, int]


@pytest.fixture(scope="session")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """Where the product keeps its state."""
    return Layout(tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="session")
def restarted(layout: Layout) -> Iterator[tuple[LocalProduct, Restart]]:
    """Start, leave something behind, stop, start again with the local cloud at another port."""
    context = {"keep_recent": str(KEEP_RECENT), "buffer_turns": str(BUFFER_TURNS)}
    who, thread = Credentials.new(f"{uuid4().hex}@everthread.test"), str(uuid4())
    with running(layout.state, free_port(), context) as first:
        first.users.ensure(who)
        headers = {"Authorization": f"Bearer {first.users.sign_in(who).id_token}"}
        with httpx.Client(base_url=first.url, headers=headers, trust_env=False, timeout=60) as http:
            http.post("/threads", json={"thread_id": thread}).raise_for_status()
    deployed = layout.deployed.stat().st_mtime_ns
    with running(layout.state, free_port(), context) as second:
        yield second, Restart(who, thread, (deployed, layout.deployed.stat().st_mtime_ns))


@pytest.fixture(scope="session")
def product(restarted: tuple[LocalProduct, Restart]) -> LocalProduct:
    return restarted[0]


@pytest.fixture(scope="session")
def restart(restarted: tuple[LocalProduct, Restart]) -> Restart:
    return restarted[1]


@pytest.fixture(scope="session")
def asking_product(
    product: LocalProduct, layout: Layout, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalProduct]:
    """The same deployment at another address, with an agent that asks back where routes stream."""
    with running_beside(product, layout.state, with_agent("asking", tmp_path_factory.mktemp("agents"))) as beside:
        yield beside


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

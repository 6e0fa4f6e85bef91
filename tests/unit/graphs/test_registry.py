import re
from pathlib import Path

import pytest

from shared.graphs.agent.topology import build
from shared.graphs.ids import AGENT, GRAPH_IDS
from shared.graphs.registry import BUILDERS, builder
from tests.fakes.agent_turns import Turns

ROOT = Path(__file__).parents[3]


def test_the_registry_knows_the_graphs_by_their_ids() -> None:
    """G01, G02."""
    assert set(BUILDERS) == set(GRAPH_IDS)


@pytest.mark.parametrize("graph_id", BUILDERS)
def test_each_id_has_a_builder(graph_id: str) -> None:
    """G01."""
    assert callable(builder(graph_id))


def test_the_agent_graph_is_built_under_its_id() -> None:
    assert builder(AGENT) is build
    assert builder(AGENT)(Turns().deps).name == AGENT


def test_an_id_that_is_none_is_refused() -> None:
    with pytest.raises(KeyError):
        builder("agents")


def test_ids_are_written_in_one_module_only() -> None:
    """G02: whoever names a graph imports its id."""
    spelled = re.compile(r"""["'](?:backgroundAgent|kbAgent)["']""")
    places = {
        path.relative_to(ROOT).as_posix()
        for package in ("shared", "functions", "infra")
        for path in (ROOT / package).rglob("*.py")
        if spelled.search(path.read_text())
    }

    assert places == {"shared/graphs/ids.py"}

import pytest

from tests.fakes.asking_agent import asking_agent
from tests.fakes.chat_api import ChatApi

ID = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"


async def get(path, **options):
    async with ChatApi(**options).client() as client:
        return await client.get(path)


async def search(**body):
    async with ChatApi().client() as client:
        return (await client.post("/assistants/search", json=body)).json()


async def test_the_one_assistant_is_the_agent_graph():
    (found,) = await search()

    assert (found["assistant_id"], found["graph_id"], found["name"], found["version"]) == (ID, "agent", "agent", 1)
    assert found["metadata"] == {"created_by": "system"}


@pytest.mark.parametrize("named", ["agent", ID])
async def test_it_is_found_by_name_and_by_id(named):
    assert (await get(f"/assistants/{named}")).json()["assistant_id"] == ID


@pytest.mark.parametrize("path", ["", "/schemas", "/graph"])
async def test_others_are_not_there(path):
    answer = await get(f"/assistants/backgroundAgent{path}")

    assert answer.status_code == 404
    assert "agent" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ({"graph_id": "agent"}, 1),
        ({"graph_id": "other"}, 0),
        ({"name": "AGE"}, 1),
        ({"name": "x"}, 0),
        ({"metadata": {"created_by": "system"}}, 1),
        ({"metadata": {"created_by": "me"}}, 0),
        ({"offset": 1}, 0),
        ({"limit": 1, "sort_by": "name", "sort_order": "desc"}, 1),
    ],
)
async def test_a_search_finds_what_fits(body, count):
    assert len(await search(**body)) == count


async def test_only_the_fields_that_were_asked_for():
    assert await search(select=["graph_id"]) == [{"graph_id": "agent"}]


async def test_schemas_say_what_the_graph_takes():
    schemas = (await get(f"/assistants/{ID}/schemas")).json()

    assert schemas["graph_id"] == "agent"
    for kind in ("input_schema", "output_schema", "state_schema"):
        assert "messages" in schemas[kind]["properties"]
    assert (schemas["config_schema"], schemas["context_schema"]) == (None, None)


async def test_a_graph_is_nodes_and_edges():
    graph = (await get(f"/assistants/{ID}/graph")).json()

    assert {node["id"] for node in graph["nodes"]} == {
        "__start__",
        "confirm",
        "chat_agent",
        "trigger_background_agent",
        "__end__",
    }
    assert {"source": "__start__", "target": "confirm"} in graph["edges"]


@pytest.mark.parametrize("xray", ["true", "1", "3"])
async def test_an_xray_shows_the_agents_own_graphs(xray):
    plain = (await get(f"/assistants/{ID}/graph", make=asking_agent)).json()
    deep = (await get(f"/assistants/{ID}/graph?xray={xray}", make=asking_agent)).json()

    assert not any(":model" in str(node["id"]) for node in plain["nodes"])
    assert any(":model" in str(node["id"]) for node in deep["nodes"])


async def test_an_xray_that_does_not_fit_is_refused():
    assert (await get(f"/assistants/{ID}/graph?xray=deep")).status_code == 422

"""LangGraph's own contract of a checkpointer, in full."""

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from shared.adapters.dynamodb.checkpointer import DynamoDBSaver
from tests.fakes.dynamodb import mocked_dynamodb


async def test_every_capability_is_there_and_conforms():
    with mocked_dynamodb() as client:

        @checkpointer_test(name="DynamoDBSaver")
        async def saver():
            yield DynamoDBSaver(client, "checkpoints", "user")

        report = await validate(saver)

    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert not failures
    assert report.conformance_level() == "FULL"
    assert {name for name, result in report.results.items() if result.detected} == {each.value for each in Capability}

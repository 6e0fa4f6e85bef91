import pytest

from tests.fakes.dynamodb import mocked_dynamodb, tapped


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


@pytest.fixture
def wire(client):
    """What is asked of DynamoDB from the moment a test begins."""
    with tapped(client) as wire:
        yield wire

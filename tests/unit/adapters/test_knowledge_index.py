import subprocess
import sys

from shared.adapters.dynamodb.exact_index import DynamoExactIndex
from shared.adapters.knowledge_index import knowledge_index
from shared.adapters.s3vectors.index import S3VectorsIndex
from shared.settings import KnowledgeIndexKnobs
from tests.fakes.dynamodb import mocked_dynamodb
from tests.fakes.s3vectors import ARN


class Clients:
    def __init__(self, client=None):
        self.asked, self.client = [], client

    def __call__(self, service):
        self.asked.append(service)
        return self.client


def test_settings_that_name_an_index_get_that():
    clients = Clients()
    index = knowledge_index(KnowledgeIndexKnobs(vector_index_arn=ARN), "memory", client_of=clients)
    assert isinstance(index, S3VectorsIndex)
    assert (index.dimension, clients.asked) == (1024, ["s3vectors"])


async def test_others_get_the_one_in_the_memory_table():
    with mocked_dynamodb() as client:
        clients = Clients(client)
        index = knowledge_index(KnowledgeIndexKnobs(embedding_dimension=384), "memory", client_of=clients)
        assert isinstance(index, DynamoExactIndex)
        assert (index.dimension, clients.asked) == (384, ["dynamodb"])
        assert list(await index.query("anna", text="tea", k=1)) == []


def test_choosing_loads_numpy_only_for_the_exact_index():
    script = (
        "import sys; from shared.adapters.knowledge_index import knowledge_index; "
        "from shared.settings import KnowledgeIndexKnobs as K; "
        "knowledge_index(K(vector_index_arn='arn'), 't', client_of=lambda name: None); "
        "sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-I", "-c", script], check=True)  # noqa: S603

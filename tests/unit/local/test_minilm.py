"""The small embedding model of the local product, by itself and behind Bedrock's wire."""

import asyncio
import json
import math
import subprocess
import sys

import pytest
from botocore.exceptions import ClientError

from local.model import embeddings
from local.model.demo.source import DemoSource
from local.model.embeddings import EMBEDDING_MODEL
from local.model.minilm.model import DIMENSION, MiniLmMissingError
from local.model.minilm.wordpiece import pieces_of
from shared.adapters.bedrock.attempts import Attempts
from shared.adapters.bedrock.embeddings import TitanEmbeddings
from shared.domain.errors import ModelForbiddenError
from tests.unit.local.serve import bedrock

# What the model's own tokenizer makes of these.
PIECES = {
    "Hello, World! It's naïve café—déjà vu.": [
        7592, 1010, 2088, 999, 2009, 1005, 1055, 15743, 7668, 1517, 2139, 3900, 24728, 1012,
    ],
    "東京タワーは高い。": [1879, 1755, 1709, 30262, 30265, 30198, 1981, 1647, 1636],
    "ERR_TIMEOUT-42: v1.2.3 (2024)": [
        9413, 2099, 1035, 2051, 5833, 1011, 4413, 1024, 1058, 2487, 1012, 1016, 1012, 1017, 1006, 16798, 2549, 1007,
    ],
    "  tabs\tand\nnewlines\r ": [21628, 2015, 1998, 2047, 12735],
    "한국어 문서를 읽다": [
        1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 1459, 30014, 30021, 29997, 30008, 29994, 30017, 30022,
        100,
    ],
    "हिन्दी भाषा": [1339, 29877, 29863, 29861, 29878, 1330, 29876, 29873, 29876],
    "مرحبا بالعالم": [1295, 17149, 29820, 29816, 25573, 1271, 25573, 23673, 29830, 25573, 23673, 22192],
    "emoji 🍵 tea ☕": [7861, 29147, 2072, 100, 5572, 100],
    "İstanbul ΑΣΣ": [9960, 1155, 29733, 29733],
    "control\x01\x7f char\ufffd soft\u00adhyphen": [2491, 25869, 3730, 10536, 8458, 2368],
    "x" * 101: [100],
    "": [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "pieces"), PIECES.items(), ids=range(len(PIECES)))
def test_texts_are_cut_into_the_pieces_that_the_model_knows(text, pieces):
    assert pieces_of(text) == pieces


def test_marks_of_the_model_in_a_text_are_text():
    assert not {101, 102} & set(pieces_of("[CLS] a [SEP]"))


# Behind Bedrock's wire, asked by the product's own adapter


async def embedder_on(client):
    return TitanEmbeddings(client, EMBEDDING_MODEL, dimension=DIMENSION, attempts=Attempts(most=1))


async def test_texts_that_mean_alike_point_alike():
    async with bedrock(DemoSource(pause=0)) as client:
        embedder = await embedder_on(client)
        question, answer, other, wide = [
            await embedder.embed(text)
            for text in (
                "How do I get my money back?",
                "Refunds are paid within two weeks after we have received the goods.",
                "The cat sleeps on the warm windowsill all afternoon.",
                "Ｈｏｗ ｄｏ Ｉ ｇｅｔ ｍｙ ｍｏｎｅｙ ｂａｃｋ？",
            )
        ]
    assert len(question) == DIMENSION
    assert math.hypot(*question) == pytest.approx(1)
    assert cosine(question, answer) > 0.4
    assert cosine(question, other) < 0.2
    assert wide == question


async def test_a_long_text_is_read_as_far_as_the_model_reads():
    async with bedrock(DemoSource(pause=0)) as client:
        embedder = await embedder_on(client)
        long, longer = [await embedder.embed("tea " * n) for n in (510, 2_000)]
    assert long == longer


async def invoke(client, body, model=EMBEDDING_MODEL):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = await asyncio.to_thread(client.invoke_model, modelId=model, body=raw)
    return json.loads(reply["body"].read())


async def test_the_reply_has_titans_shape():
    async with bedrock(DemoSource(pause=0)) as client:
        reply = await invoke(client, {"inputText": "green tea", "embeddingTypes": ["float"]})
        raw = await invoke(client, {"inputText": "green tea", "normalize": False})
    assert reply.keys() == {"embedding", "embeddingsByType", "inputTextTokenCount"}
    assert reply["embeddingsByType"] == {"float": reply["embedding"]}
    assert reply["inputTextTokenCount"] == 2
    assert math.hypot(*raw["embedding"]) != pytest.approx(1)
    assert cosine(raw["embedding"], reply["embedding"]) == pytest.approx(1)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        [],
        {},
        {"inputText": "  "},
        {"inputText": 7},
        {"inputText": "x" * 50_001},
        {"inputText": "tea", "dimensions": 1024},
        {"inputText": "tea", "embeddingTypes": ["binary"]},
        {"inputText": "tea", "truncate": "END"},
    ],
)
async def test_what_titan_refuses_is_refused(body):
    async with bedrock(DemoSource(pause=0)) as client:
        with pytest.raises(ClientError, match="ValidationException"):
            await invoke(client, body)


async def test_no_other_model_is_invoked():
    async with bedrock(DemoSource(pause=0)) as client:
        with pytest.raises(ClientError, match="ValidationException"):
            await invoke(client, {"inputText": "tea"}, model="amazon.titan-embed-text-v2:0")


async def test_a_machine_without_the_model_says_so(monkeypatch):
    def missing(text):
        raise MiniLmMissingError("onnxruntime is missing")

    monkeypatch.setattr(embeddings, "embed", missing)
    async with bedrock(DemoSource(pause=0)) as client:
        with pytest.raises(ModelForbiddenError):
            await (await embedder_on(client)).embed("tea")


def test_importing_the_server_loads_no_model():
    script = "import sys, local.model.server; sys.exit(bool({'onnxruntime', 'numpy'} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))

"""How well the knowledge base finds: by words, by vectors, by both.

    python -m bench.retrieval [FOLDER] [--vectors FILE]

FOLDER is in BEIR's format (corpus.jsonl, queries.jsonl, qrels/*.tsv; test.tsv where there are several). Without one, a
small collection of our own writing is searched: 40 short texts, among them families that differ in a code or a number
only and some in other languages, and 25 questions. Texts are embedded by the local product's model and kept, searched
and fused by the exact index on a mocked DynamoDB, through the port that the product uses. "unpacked" is the search by
vectors once more, with the 32-bit floats that the index packs into bytes.

--vectors keeps the vectors in a file, so that a large collection is embedded once.
"""

import argparse
import asyncio
import csv
import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import boto3
import numpy as np
from moto import mock_aws

from local.model.minilm.model import DIMENSION, embed
from shared.adapters.dynamodb.exact_index import DynamoExactIndex
from shared.adapters.dynamodb.exact_search import Part, ranked
from shared.adapters.dynamodb.packed_vectors import unit_rows
from shared.domain.documents import document_id_for
from shared.domain.ids import UserId
from shared.domain.kb.bm25 import Postings
from shared.domain.kb.chunks import Chunk, chunk_id
from shared.domain.kb.hits import Vector
from shared.kb_ports import MAX_HITS, Index
from shared.services.embed_texts import EmbeddedBatch, EmbedTexts
from tests.fakes.tables import create_memory_table

SAMPLE = Path(__file__).parent / "data" / "retrieval"
USER = UserId("bench")
DOCUMENT = document_id_for(USER, "the whole collection")
SHOWN = ("nDCG@10", "recall@1", "recall@5", "recall@10", "recall@100")
SCALE = 10_000

Relevance = Mapping[str, Mapping[str, int]]
"""Question to text to grade; only grades above 0."""
Ranking = Sequence[str]


@dataclass(frozen=True)
class Collection:
    texts: Mapping[str, str]
    questions: Mapping[str, str]
    relevance: Relevance

    @classmethod
    def read(cls, folder: Path) -> "Collection":
        texts = {row["_id"]: f"{row.get('title', '')}\n{row['text']}".strip() for row in _rows(folder / "corpus.jsonl")}
        grades: dict[str, dict[str, int]] = {}
        with _judgements(folder).open(encoding="utf-8", newline="") as file:
            for question, text, grade in list(csv.reader(file, delimiter="\t"))[1:]:
                if int(grade) > 0:
                    grades.setdefault(question, {})[text] = int(grade)
        questions = {row["_id"]: row["text"] for row in _rows(folder / "queries.jsonl") if row["_id"] in grades}
        return cls(texts, questions, grades)


def _rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def _judgements(folder: Path) -> Path:
    test = folder / "qrels" / "test.tsv"
    return test if test.exists() else next(iter(sorted((folder / "qrels").glob("*.tsv"))))


# What is measured


def ndcg(ranking: Ranking, grades: Mapping[str, int], depth: int = 10) -> float:
    """Discounted gain over the best possible one, with linear gains, as trec_eval has it."""
    gained = sum(grades.get(text, 0) / math.log2(place + 2) for place, text in enumerate(ranking[:depth]))
    best = sorted(grades.values(), reverse=True)[:depth]
    return gained / sum(grade / math.log2(place + 2) for place, grade in enumerate(best))


def recall(ranking: Ranking, grades: Mapping[str, int], depth: int) -> float:
    return len(grades.keys() & set(ranking[:depth])) / len(grades)


def measured(rankings: Mapping[str, Ranking], relevance: Relevance) -> dict[str, float]:
    per_question = [
        {name: _measure(name, ranking, relevance[question]) for name in SHOWN} for question, ranking in rankings.items()
    ]
    return {name: statistics.fmean(values[name] for values in per_question) for name in SHOWN}


def _measure(name: str, ranking: Ranking, grades: Mapping[str, int]) -> float:
    kind, _, depth = name.partition("@")
    return {"nDCG": ndcg, "recall": recall}[kind](ranking, grades, int(depth))


# What is searched


class MiniLm:
    """Implements ``Embedder`` without a server in between."""

    dimension = DIMENSION

    async def embed(self, text: str) -> Vector:
        return (await asyncio.to_thread(embed, text)).vector


class Vectors:
    """The vectors of texts, kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, np.ndarray] = {}
        if path is not None and path.exists():
            with np.load(path) as file:
                self._known = dict(zip(file["keys"].tolist(), file["vectors"], strict=True))

    async def of(self, texts: Mapping[str, str]) -> dict[str, list[float]]:
        keys = {name: sha256(text.encode()).hexdigest() for name, text in texts.items()}
        missing = {keys[name]: text for name, text in texts.items() if keys[name] not in self._known}
        work = EmbedTexts(MiniLm(), concurrency=os.cpu_count() or 1, batch_size=256)
        await work.run(missing, checkpoint=self._keep, seconds_left=lambda: math.inf)
        return {name: self._known[key].tolist() for name, key in keys.items()}

    async def _keep(self, batch: EmbeddedBatch[str]) -> None:
        self._known |= {key: np.asarray(vector, dtype=np.float32) for key, vector in batch.vectors.items()}
        print(f"{len(self._known)} texts embedded", file=sys.stderr)
        if self._path is not None:
            np.savez(self._path, keys=np.array(list(self._known)), vectors=np.array(list(self._known.values())))


def chunk(number: int, text: str) -> Chunk:
    return Chunk(
        id=chunk_id(DOCUMENT, 1, number),
        text=text,
        heading_path=(),
        page_from=1,
        page_to=1,
        start=0,
        end=len(text),
    )


async def rankings_of(index: Index, collection: Collection, vectors: Vectors) -> dict[str, dict[str, Ranking]]:
    names = list(collection.texts)
    of_texts = await vectors.of(collection.texts)
    of_questions = await vectors.of(collection.questions)
    await index.upsert(
        USER, [chunk(n, collection.texts[name]) for n, name in enumerate(names)], [of_texts[name] for name in names]
    )

    async def ranking(**question: object) -> Ranking:
        hits = await index.query(USER, **question, k=MAX_HITS)
        return [names[hit.chunk.place.number] for hit in hits]

    directions = unit_rows(np.array([of_texts[name] for name in names], dtype=np.float32))
    found: dict[str, dict[str, Ranking]] = {kind: {} for kind in ("BM25", "vectors", "unpacked", "hybrid")}
    for name, text in collection.questions.items():
        vector = of_questions[name]
        found["BM25"][name] = await ranking(text=text)
        found["vectors"][name] = await ranking(vector=vector)
        found["hybrid"][name] = await ranking(text=text, vector=vector)
        cosines = directions @ np.asarray(vector, dtype=np.float32)
        found["unpacked"][name] = [names[n] for n in np.argsort(-cosines, kind="stable")[:MAX_HITS]]
    return found


async def measures_of(folder: Path, vectors: Vectors) -> dict[str, dict[str, float]]:
    collection = Collection.read(folder)
    with mock_aws():
        client = boto3.client(
            "dynamodb", region_name="eu-central-1", aws_access_key_id="bench", aws_secret_access_key="bench"
        )
        create_memory_table(client)
        index = DynamoExactIndex(client, "memory", dimension=DIMENSION)
        found = await rankings_of(index, collection, vectors)
    return {kind: measured(rankings, collection.relevance) for kind, rankings in found.items()}


def milliseconds_of_a_query(dimension: int, texts: Sequence[str], questions: Sequence[str]) -> tuple[float, float]:
    """CPU time of one hybrid ranking of 10,000 chunks in memory, and of making them ready, in milliseconds."""
    chance = random.Random(7)  # noqa: S311 - no secret
    words = [word for text in texts for word in text.split()]
    chunks = tuple(chunk(n, " ".join(chance.choices(words, k=220))) for n in range(SCALE))
    directions = unit_rows(np.random.default_rng(7).standard_normal((SCALE, dimension), dtype=np.float32))
    began = time.process_time()
    part = Part("", chunks, directions, Postings(each.text for each in chunks))
    ready = time.process_time() - began
    began = time.process_time()
    for question in questions:
        ranked([part], vector=directions[0].tolist(), text=question, k=20)
    return (time.process_time() - began) / len(questions) * 1000, ready * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="nDCG and recall of the knowledge base's search.")
    parser.add_argument("folder", nargs="?", type=Path, default=SAMPLE, help="a collection in BEIR's format")
    parser.add_argument("--vectors", type=Path, help="keep the vectors in this file (.npz)")
    arguments = parser.parse_args()
    measures = asyncio.run(measures_of(arguments.folder, Vectors(arguments.vectors)))
    print(f"{arguments.folder.name}")
    print(f"| {'search':<8} | " + " | ".join(f"{name:>10}" for name in SHOWN) + " |")
    print(f"| {'-' * 8} | " + " | ".join("-" * 9 + ":" for _ in SHOWN) + " |")
    for kind, values in measures.items():
        print(f"| {kind:<8} | " + " | ".join(f"{values[name]:>10.3f}" for name in SHOWN) + " |")
    sample = Collection.read(SAMPLE)
    for dimension in (384, 1024):
        query, ready = milliseconds_of_a_query(dimension, list(sample.texts.values()), list(sample.questions.values()))
        print(
            f"{SCALE:,} chunks of {dimension} dimensions: {query:.1f} ms of CPU a query, {ready:.0f} ms to make ready"
        )


if __name__ == "__main__":
    main()

"""Amazon S3 Vectors on loopback: one index in ENHANCED mode, behind the wire that botocore speaks.

Refuses what the service documents as refused. Ranks by cosine and BM25, and fuses by reciprocal rank.
"""

import json
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import boto3
from botocore.config import Config
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.serving import listen, serving
from shared.domain.kb.bm25 import Postings, bm25_scores
from shared.domain.kb.fusion import fuse_ranks

ARN = "arn:aws:s3vectors:eu-central-1:123456789012:bucket/everthread-test/index/chunks"


class RefusedError(Exception):
    def __init__(self, message: str, code: str = "ValidationException", status: int = 400) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class VectorService:
    """The index's content and the calls that were made.

    Attributes
    ----------
    vectors
        What is kept, by key.
    requests
        Operation and body of each call.
    failures
        Errors to answer next, one a call, each a code and a status.
    """

    def __init__(self, dimension: int, *, non_filterable: tuple[str, ...], searchable: tuple[str, ...]) -> None:
        self.dimension, self.non_filterable, self.searchable = dimension, non_filterable, searchable
        self.vectors: dict[str, tuple[list[float], dict[str, Any]]] = {}
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.failures: list[tuple[str, int]] = []
        self.deletes_lag = False

    def app(self) -> Starlette:
        operations = {"PutVectors": self._put, "DeleteVectors": self._delete, "QueryVectors": self._query}
        return Starlette(
            routes=[
                Route(f"/{name}", self._endpoint(name, call), methods=["POST"]) for name, call in operations.items()
            ]
        )

    def _endpoint(self, name: str, call: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
        async def answer(request: Request) -> Response:
            body = json.loads(await request.body())
            self.requests.append((name, body))
            try:
                if self.failures:
                    code, status = self.failures.pop(0)
                    raise RefusedError("as scripted", code, status)
                if body.get("indexArn") != ARN:
                    raise RefusedError("no such index", "NotFoundException", 404)
                return JSONResponse(call(body))
            except RefusedError as error:
                return JSONResponse(
                    {"message": str(error)}, status_code=error.status, headers={"x-amzn-errortype": error.code}
                )

        return answer

    def _put(self, body: dict[str, Any]) -> dict[str, Any]:
        _need(1 <= len(body["vectors"]) <= 500, "1 to 500 vectors")
        keys = [each["key"] for each in body["vectors"]]
        _need(len(set(keys)) == len(keys), "each key once")
        for each in body["vectors"]:
            metadata = each.get("metadata", {})
            filterable = {name: value for name, value in metadata.items() if name not in self.non_filterable}
            _need(_size(filterable) <= 2048, "filterable metadata of at most 2 KB")
            _need(_size(metadata) <= 40 * 1024, "metadata of at most 40 KB")
            _need(1 <= len(each["key"]) <= 1024, "a key of at most 1,024 characters")
            self._check(each["data"])
        for each in body["vectors"]:
            self.vectors[each["key"]] = (each["data"]["float32"], each.get("metadata", {}))
        return {}

    def _delete(self, body: dict[str, Any]) -> dict[str, Any]:
        _need(1 <= len(body["keys"]) <= 500, "1 to 500 keys")
        if not self.deletes_lag:
            for key in body["keys"]:
                self.vectors.pop(key, None)
        return {}

    def _query(self, body: dict[str, Any]) -> dict[str, Any]:
        _need(1 <= body["topK"] <= 100, "topK of 1 to 100")
        kept = [(key, *each) for key, each in self.vectors.items() if self._fits(body.get("filter", {}), each[1])]
        distances: dict[int, float] = {}
        words: dict[int, float] = {}
        if "queryVector" in body:
            self._check(body["queryVector"])
            wanted = body["queryVector"]["float32"]
            distances = {n: 1 - _cosine(wanted, vector) for n, (_, vector, _) in enumerate(kept)}
        if "queryTexts" in body:
            ((text, name),) = ((each["text"], each["metadataKey"]) for each in body["queryTexts"])
            _need(name in self.searchable, "a text search configuration")
            _need(1 <= len(text) <= 1024, "a text of at most 1,024 characters")
            scores = bm25_scores(text, [Postings(metadata.get(name, "") for _, _, metadata in kept)])
            words = {n: score for (_, n), score in scores.items()}
        _need("queryVector" in body or "queryTexts" in body, "a vector or a text")
        nearest = sorted(distances, key=lambda n: distances[n])[: body["topK"]]
        wordiest = sorted(words, key=lambda n: -words[n])[: body["topK"]]
        fused = dict(fuse_ranks(nearest, wordiest))
        hybrid = "queryVector" in body and "queryTexts" in body
        found: list[dict[str, Any]] = []
        for n in list(fused)[: body["topK"]]:
            key, _, metadata = kept[n]
            result: dict[str, Any] = {"key": key}
            if body.get("returnMetadata"):
                result["metadata"] = metadata
            if body.get("returnDistance") and not hybrid and "queryVector" in body:
                result["distance"] = distances[n]
            if body.get("returnScores") and "queryTexts" in body:
                result["scores"] = {"fused": fused[n]} if hybrid else {}
                if n in wordiest:
                    result["scores"]["bm25Scores"] = [{"metadataKey": name, "score": words[n]}]
                if hybrid and n in nearest:
                    result["scores"]["vectorDistance"] = distances[n]
            found.append(result)
        return {"vectors": found, "distanceMetric": "cosine"}

    def _check(self, data: Mapping[str, Any]) -> None:
        _need(len(data["float32"]) == self.dimension, f"{self.dimension} dimensions")
        _need(any(data["float32"]), "a vector that is not all zeros")

    def _fits(self, condition: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
        if not condition:
            return True
        _need(_constraints(condition) <= 100, "at most 100 filter constraints")
        ((name, wanted),) = condition.items()
        if name == "$and":
            return all(self._fits(each, metadata) for each in wanted)
        _need(name not in self.non_filterable, "filterable metadata")
        ((operator, value),) = wanted.items()
        match operator:
            case "$eq":
                return metadata.get(name) == value
            case "$in":
                return metadata.get(name) in value
            case _:
                raise RefusedError(f"an operator, not {operator}")


@asynccontextmanager
async def s3vectors(service: VectorService) -> AsyncIterator[Any]:
    """Serve the double and give a client of it."""
    async with serving(service.app(), listen(0, "")) as url:
        client = boto3.client(
            "s3vectors",
            endpoint_url=url,
            region_name="eu-central-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=Config(retries={"total_max_attempts": 1}),
        )
        yield client
        client.close()


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise RefusedError(f"It takes {what}.")


def _size(metadata: Mapping[str, Any]) -> int:
    return sum(len(name.encode()) + len(str(value).encode()) for name, value in metadata.items())


def _constraints(condition: Mapping[str, Any]) -> int:
    ((name, wanted),) = condition.items()
    if name == "$and":
        return sum(map(_constraints, wanted))
    ((operator, value),) = wanted.items()
    return len(value) if operator == "$in" else 1


def _cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))

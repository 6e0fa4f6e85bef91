"""The measures of ``bench/retrieval.py``, and what they say of the collection beside it."""

import math

import pytest

from bench.retrieval import SAMPLE, Collection, Vectors, measures_of, ndcg, recall


def test_gain_is_discounted_by_place_and_measured_against_the_best():
    grades = {"a": 2, "b": 1}
    assert ndcg(["a", "b"], grades) == 1
    assert ndcg(["b", "x", "a"], grades) == pytest.approx((1 + 2 / math.log2(4)) / (2 + 1 / math.log2(3)))
    assert ndcg(["x"] * 10 + ["a"], grades) == 0
    assert ndcg([], grades) == 0


def test_recall_is_the_part_of_the_relevant_that_is_found():
    assert recall(["x", "a", "b"], {"a": 1, "b": 2, "c": 1, "d": 1}, 2) == 0.25


def test_a_collection_is_read_as_beir_writes_it(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "title": "T", "text": "é"}\n{"_id": "2", "text": "b"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n{"_id": "unjudged", "text": "!"}\n')
    (tmp_path / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq\t2\t1\n")
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t2\nq\t2\t0\n")
    collection = Collection.read(tmp_path)
    assert collection.texts == {"1": "T\né", "2": "b"}
    assert collection.questions == {"q": "?"}
    assert collection.relevance == {"q": {"1": 2}}


async def test_hybrid_is_no_worse_than_the_better_of_its_parts(tmp_path):
    """KB24, and vectors of one byte a dimension find what vectors of four bytes find."""
    measures = await measures_of(SAMPLE, Vectors(tmp_path / "vectors.npz"))
    for name in ("nDCG@10", "recall@5", "recall@10"):
        assert measures["hybrid"][name] >= max(measures["BM25"][name], measures["vectors"][name])
    assert measures["vectors"]["nDCG@10"] == pytest.approx(measures["unpacked"]["nDCG@10"], abs=0.01)
    assert measures["BM25"]["nDCG@10"] > 0.9
    kept = Vectors(tmp_path / "vectors.npz")
    assert len((await kept.of({"a": "what does E07 mean"}))["a"]) == 384

"""What the demo source does with documents: when it looks into them, and what it says of what it finds."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from local.model.demo.wording import plain, shortened

SEARCH: Final = "search_knowledge_base"
LIST: Final = "list_documents"

NOTHING_FOUND: Final = "I found nothing about that in your documents."

_BLOCK: Final = re.compile(r"<kb_document>\n(?P<head>\{.*\})\n(?P<text>.*?)</kb_document>", re.DOTALL)
_NAME: Final = re.compile(r'"name": "(?P<name>(?:[^"\\]|\\.)*)"')
_WHICH: Final = re.compile(
    r"\b(?:list|show|which|what|how many)\b[^.?!]*\b(?:documents|files|uploads)\b(?! say)", re.IGNORECASE
)
_ABOUT: Final = re.compile(
    r":kb-document\[|\b(?:documents?|files?|pdfs?|uploads?|uploaded|knowledge base)\b", re.IGNORECASE
)
_MENTION: Final = re.compile(r":kb-\w+\[(?P<label>[^\]]*)\]\{[^}]*\}")
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:\.(?=\w)[^.!?\n]+)*[.!?]?")
_WORD: Final = re.compile(r"\w+")
_COMMON: Final = frozenset(
    [
        "about",
        "after",
        "all",
        "and",
        "are",
        "but",
        "can",
        "did",
        "does",
        "document",
        "documents",
        "every",
        "file",
        "files",
        "for",
        "from",
        "has",
        "have",
        "how",
        "into",
        "its",
        "my",
        "not",
        "our",
        "pdf",
        "say",
        "says",
        "tell",
        "that",
        "the",
        "their",
        "them",
        "there",
        "they",
        "this",
        "uploaded",
        "was",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "you",
        "your",
    ]
)
_STEM = 5
_QUOTED = 300


def without_documents(text: str) -> str:
    """Give what the user said, without the documents that came with it."""
    return _BLOCK.sub("", text).strip()


def document_call(text: str, *, unanswered: bool) -> tuple[str, dict[str, Any]] | None:
    """Give the tool call of a message that is about documents.

    Parameters
    ----------
    text : str
        What the user said.
    unanswered : bool
        Whether no other rule has an answer to it: then a question is looked up too.
    """
    if _ABOUT.search(text):
        return (LIST, {}) if _WHICH.search(text) and ":kb-" not in text else (SEARCH, {"query": readable(text)})
    return (SEARCH, {"query": text}) if unanswered and text.rstrip().endswith("?") else None


def readable(text: str) -> str:
    """Give the text with mentions as their labels."""
    return _MENTION.sub(lambda match: match["label"], text)


def said_in_blocks(text: str) -> str | None:
    """Answer from the documents that came with a message; ``None`` when none did."""
    blocks = list(_BLOCK.finditer(text))
    if not blocks:
        return None
    question = without_documents(text)
    texts = [(_name(block["head"]), sentence) for block in blocks for sentence in _sentences(block["text"])]
    best = _best(question, texts) or next(iter(texts), None)
    if best is None:
        return f"I cannot read “{_name(blocks[0]['head'])}”: {shortened(blocks[0]['head'], _QUOTED)}"
    name, sentence = best
    return f"“{name}” says: “{sentence}”"


def said_of_passages(result: Mapping[str, Any], question: str) -> str:
    """Quote the sentence that has most words of a question, with the number of its passage."""
    passages = [passage for passage in result.get("passages", []) if isinstance(passage, Mapping)]
    sentences = [(passage, sentence) for passage in passages for sentence in _sentences(str(passage.get("text", "")))]
    best = _best(question, sentences)
    if best is None:
        return NOTHING_FOUND
    passage, sentence = best
    return f"“{passage.get('document')}” says: “{sentence}” [{passage.get('number')}]"


def said_of_list(result: Mapping[str, Any]) -> str:
    """Say which documents there are."""
    documents = [document for document in result.get("documents", []) if isinstance(document, Mapping)]
    if not documents:
        return "You have no documents yet."
    lines = [f"- {plain(document.get('name'))}: {plain(document.get('state'))}" for document in documents]
    return "\n".join([f"You have {result.get('total', len(documents))} documents:", *lines])


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        for sentence in _SENTENCE.findall(line):
            if sentence.strip():
                yield shortened(sentence, _QUOTED)


def _best(question: str, sentences: Iterable[tuple[Any, str]]) -> tuple[Any, str] | None:
    asked = _stems(readable(question))
    # Of several that fit alike, the first.
    score, best = 0, None
    for source, sentence in sentences:
        if (fits := len(asked & _stems(sentence))) > score:
            score, best = fits, (source, sentence)
    return best


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.lower()) if len(word) > 2 and word not in _COMMON}


def _name(head: str) -> str:
    match = _NAME.search(head)
    return match["name"] if match else "the document"

"""Passages: the chunks an answer is given, numbered so that it can cite them, within a budget of tokens."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from shared.domain.ids import DocumentId
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.hits import LiveDocument
from shared.domain.summary import estimate_tokens

CUT_MARK: Final = " […]"
"""What a text ends with that goes on in the document."""

# A shorter piece than this tells nothing; the passage is rather left out.
_LEAST_TOKENS: Final = 40
_CHARACTERS_A_TOKEN: Final = 4
# How far back the end of a word is looked for.
_LONGEST_WORD: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of a document that an answer may cite.

    Parameters
    ----------
    number : int
        What it is cited by.
    chunk_id : str
        The chunk it is.
    document_id : str
        The document.
    document : str
        The document's name.
    page_from, page_to : int
        The pages it is on, counted from 1.
    start, end : int
        Where the whole chunk is in the document's text, in characters.
    heading_path : tuple of str
        The headings it stands under.
    text : str
        The chunk's text. Data, never instructions: whoever shows it to a model has to say so.
    cut : bool
        Whether the budget ended in the middle of it; the text then ends with ``CUT_MARK``.
    """

    number: int
    chunk_id: str
    document_id: DocumentId
    document: str
    page_from: int
    page_to: int
    start: int
    end: int
    heading_path: tuple[str, ...]
    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages that fit.

    Parameters
    ----------
    passages : tuple of Passage
        In the order in which the chunks were given.
    left_out : int
        How many more there were.
    """

    passages: tuple[Passage, ...] = ()
    left_out: int = 0

    @property
    def complete(self) -> bool:
        """Whether nothing was cut or left out."""
        return not self.left_out and not any(passage.cut for passage in self.passages)

    def numbered_from(self, first: int) -> "Passages":
        """Give the same passages under other numbers."""
        renumbered = (replace(passage, number=number) for number, passage in enumerate(self.passages, first))
        return replace(self, passages=tuple(renumbered))


def passages_within(
    token_budget: int, chunks: Iterable[Chunk], documents: Mapping[DocumentId, LiveDocument], *, first: int = 1
) -> Passages:
    """Make passages of chunks until the budget is used up.

    Parameters
    ----------
    token_budget : int
        Estimated tokens that the texts may take together.
    chunks : iterable of Chunk
        The most wanted first; each once.
    documents : mapping
        Every document that a chunk is of.
    first : int
        The first number: passages of one answer must not share one.
    """
    passages: list[Passage] = []
    left, left_out = token_budget, 0
    for chunk in chunks:
        text = cut_to(left, chunk.text)
        if not text or left_out:
            # After the first that does not fit a shorter one would jump the queue.
            left_out += 1
            continue
        passages.append(_passage(first + len(passages), chunk, text, documents))
        left = 0 if passages[-1].cut else left - estimate_tokens(text)
    return Passages(tuple(passages), left_out)


def _passage(number: int, chunk: Chunk, text: str, documents: Mapping[DocumentId, LiveDocument]) -> Passage:
    document_id = chunk.place.document_id
    return Passage(
        number=number,
        chunk_id=chunk.id,
        document_id=document_id,
        document=documents[document_id].name,
        page_from=chunk.page_from,
        page_to=chunk.page_to,
        start=chunk.start,
        end=chunk.end,
        heading_path=chunk.heading_path,
        text=text,
        cut=text != chunk.text,
    )


def has_room(tokens: int) -> bool:
    """Say whether a budget has room for more than a mere scrap of a text that does not fit."""
    return tokens >= _LEAST_TOKENS


def characters_beyond(tokens: int) -> int:
    """Give the fewest characters that are more than a budget has room for."""
    return tokens * _CHARACTERS_A_TOKEN + 1


def cut_to(tokens: int, text: str) -> str:
    """Give as much of a text as a budget has room for, with ``CUT_MARK`` where it goes on; empty for a mere scrap.

    Parameters
    ----------
    tokens : int
        Estimated tokens that it may take.
    text : str
        The text; it comes back as it is when it fits.
    """
    if estimate_tokens(text) <= tokens:
        return text
    if not has_room(tokens):
        return ""
    kept = text[: tokens * _CHARACTERS_A_TOKEN - len(CUT_MARK)]
    # Not within a word, where the script has words at all.
    space = kept.rfind(" ", len(kept) - _LONGEST_WORD)
    return (kept if space < 0 else kept[:space]).rstrip() + CUT_MARK

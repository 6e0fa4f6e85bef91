"""What the demo source says when no tool is called for."""

import re
from collections.abc import Mapping
from typing import Any, Final

from local.model.demo.documents import said_in_blocks, without_documents
from local.model.demo.statements import facts_in, forgotten_in, key_meant
from local.model.demo.view import earlier_topics, profile_in
from local.model.demo.wording import phrase_from, plain, shortened
from local.model.request import ConverseRequest

BANNER: Final = (
    "I am the demo model: a few rules that run offline, no language model. I show what the product does with memory: "
    "tell me something lasting (“I live in Lisbon”), ask what I know about you, or have me forget it."
)

_ABOUT_ME: Final = re.compile(
    r"\bwhat (?:do|did) you (?:know|remember|save)\w*\b|\bwho am i\b|\bwhat do you have on me\b", re.IGNORECASE
)
_ABOUT_TALK: Final = re.compile(
    r"\bwhat (?:did|have) we (?:talk|discuss|cover|speak)\w*"
    r"|\bsummari[sz]e (?:our|this|the) (?:chat|talk|conversation)",
    re.IGNORECASE,
)
_MY: Final = re.compile(
    r"\b(?:what(?:'s| is| are)|do you (?:know|remember)|tell me)\s+my\s+(?P<what>[\w '-]+?)\s*(?:\?|$|\.)",
    re.IGNORECASE,
)
_DO_I: Final[Mapping[str, re.Pattern[str]]] = {
    "location": re.compile(r"\bwhere (?:do i live|am i based)\b", re.IGNORECASE),
    "employer": re.compile(r"\bwhere do i work\b", re.IGNORECASE),
    "job": re.compile(r"\bwhat do i do\b|\bwhat do i work\b", re.IGNORECASE),
    "likes": re.compile(r"\bwhat do i (?:like|love|enjoy)\b", re.IGNORECASE),
    "dislikes": re.compile(r"\bwhat do(?:n't)? i (?:dislike|hate)\b", re.IGNORECASE),
    "preferences": re.compile(r"\bwhat do i prefer\b", re.IGNORECASE),
    "allergies": re.compile(r"\bwhat am i allergic to\b", re.IGNORECASE),
    "languages": re.compile(r"\b(?:what|which) languages? do i speak\b", re.IGNORECASE),
    "age": re.compile(r"\bhow old am i\b", re.IGNORECASE),
}
_GREETING: Final = re.compile(r"(?:hi|hello|hey|good (?:morning|evening|afternoon))\b.{0,20}", re.IGNORECASE)
_ECHO_LIMIT = 160


def answer(request: ConverseRequest) -> str:
    """Answer from the profile and the conversation as the request shows them."""
    said = request.last_user_text()
    text = _said(request)
    profile = profile_in(request)
    return _by_rule(request, text, profile) or said_in_blocks(said) or _nothing_to_do(request, text, profile)


def is_answered(request: ConverseRequest) -> bool:
    """Say whether a rule has an answer to the last message."""
    return _by_rule(request, _said(request), profile_in(request)) is not None


def _said(request: ConverseRequest) -> str:
    return without_documents(request.last_user_text()).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _by_rule(request: ConverseRequest, text: str, profile: Mapping[str, Any]) -> str | None:
    if _ABOUT_ME.search(text):
        return _all_known(profile)
    if _ABOUT_TALK.search(text):
        return _talked_about(request)
    if (asked := _asked_key(text, profile)) is not None:
        return asked
    _, unknown = forgotten_in(text, profile)
    if unknown:
        return f"There is nothing in memory about {plain(unknown)}."
    if known := facts_in(text):
        return f"I already know: {_listed({fact.key: fact.value for fact in known})}."
    return _greeting(text, profile)


def _all_known(profile: Mapping[str, Any]) -> str:
    if not profile:
        return "I know nothing about you yet."
    return f"This is what I know about you: {_listed(profile)}."


def _listed(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{phrase_from(key)}: {plain(value)}" for key, value in values.items())


def _asked_key(text: str, profile: Mapping[str, Any]) -> str | None:
    for key, pattern in _DO_I.items():
        if pattern.search(text):
            return _told(key, profile)
    match = _MY.search(text)
    if match is None:
        return None
    what = match.group("what")
    key = key_meant(what, profile)
    return _told(key, profile) if key else f"You have not told me your {what.strip()}."


def _told(key: str, profile: Mapping[str, Any]) -> str:
    name = phrase_from(key)
    return f"Your {name}: {plain(profile[key])}." if key in profile else f"You have not told me your {name}."


def _talked_about(request: ConverseRequest) -> str:
    topics = [*earlier_topics(request), *(shortened(text, _ECHO_LIMIT) for text in request.user_texts()[:-1])]
    if not topics:
        return "This is the beginning of our conversation."
    return "We talked about this, oldest first:\n" + "\n".join(f"- {topic}" for topic in dict.fromkeys(topics))


def _greeting(text: str, profile: Mapping[str, Any]) -> str | None:
    if not _GREETING.fullmatch(text.strip()):
        return None
    name = profile.get("name")
    return f"Hello, {name}! {BANNER}" if isinstance(name, str) and name else f"Hello! {BANNER}"


def _nothing_to_do(request: ConverseRequest, text: str, profile: Mapping[str, Any]) -> str:
    seen = len(request.user_texts())
    topics = len(earlier_topics(request))
    sight = (
        f"Before me are {seen} of your messages word for word, {topics} earlier topics as summaries "
        f"and {len(profile)} things I know about you."
    )
    heard = f"You said: “{shortened(text, _ECHO_LIMIT)}”" if text else "You said nothing I can read."
    return f"{heard} {BANNER} {sight}" if seen <= 1 else f"{heard} I am only the demo model. {sight}"

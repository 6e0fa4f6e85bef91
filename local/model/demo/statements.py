"""Which of the user's sentences say something lasting, and what they say."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from local.model.demo.wording import clauses, key_from

_MAX_VALUE = 200

Many = Literal["one", "many"]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something to remember.

    Parameters
    ----------
    key : str
        The profile key.
    value : str
        As the user said it.
    many : bool
        Whether the key holds a list that this joins.
    """

    key: str
    value: str
    many: bool = False


# Asked in order; the first that fits a clause wins. "my X is Y" is the most general and comes last.
_PATTERNS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), key, many)
    for pattern, key, many in (
        (r"(?:my name is|call me|i am called|i'm called) (?P<value>.+)", "name", False),
        (r"i (?:now )?(?:live|am based) in (?P<value>.+)", "location", False),
        (r"i(?:'ve| have)? (?:just )?moved to (?P<value>.+)", "location", False),
        (r"i'm based in (?P<value>.+)", "location", False),
        (r"i work as (?:an? )?(?P<value>.+)", "job", False),
        (r"i (?:now )?work (?:at|for) (?P<value>.+)", "employer", False),
        (r"i(?:'m| am) (?P<value>\d{1,3}) years old", "age", False),
        (r"i(?:'m| am) allergic to (?P<value>.+)", "allergies", True),
        (r"i (?:do not|don't|dislike|hate)(?: like)? (?P<value>.+)", "dislikes", True),
        (r"i (?:really )?(?:like|love|enjoy) (?P<value>.+)", "likes", True),
        (r"i prefer (?P<value>.+)", "preferences", True),
        (r"i speak (?P<value>.+)", "languages", True),
        (r"i have an? (?P<noun>\w+) (?:named|called) (?P<value>.+)", None, False),
        (r"my (?P<noun>[\w-]+(?: [\w-]+){0,2}) (?:is|are) (?:called |named )?(?P<value>.+)", None, False),
    )
)

_OPENING: Final = re.compile(
    r"^(?:(?:hi|hello|hey|so|well|ok|okay|also|and|but|please|by the way|actually|note that)[,!]?\s+)+", re.IGNORECASE
)
_REMEMBER: Final = re.compile(
    r"(?:please )?(?:remember|note|keep in mind|don't forget)(?: that)?[:,]?\s+(?P<what>.+)", re.IGNORECASE
)
_FORGET: Final = re.compile(r"(?:please )?(?:forget|delete|remove)(?: about)?(?: that)?\s+(?P<what>.+)", re.IGNORECASE)
# What "my … is …" says of the moment and not of the person.
_FLEETING: Final = frozenset(
    {"question", "problem", "point", "guess", "idea", "answer", "mistake", "code", "plan", "issue"}
)
_NAMES_OF_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "location": ("where i live", "home", "city", "town", "address", "location", "country"),
    "job": ("job", "work", "profession", "occupation", "what i do"),
    "employer": ("employer", "company", "where i work"),
    "likes": ("likes", "what i like", "hobbies", "interests"),
    "dislikes": ("dislikes", "what i dislike", "what i hate"),
    "preferences": ("preferences", "what i prefer"),
    "allergies": ("allergies", "allergy"),
    "languages": ("languages", "language"),
    "notes": ("notes", "note"),
    "age": ("age", "how old i am"),
    "name": ("name", "who i am"),
}


def facts_in(text: str) -> list[Fact]:
    """Find what a message says that will still hold tomorrow; questions say nothing."""
    found: dict[str, Fact] = {}
    for fact in _facts(text):
        found.setdefault(f"{fact.key}\0{fact.value}" if fact.many else fact.key, fact)
    return list(found.values())


def _facts(text: str) -> Iterator[Fact]:
    for clause in clauses(text):
        said = _OPENING.sub("", clause)
        remember = _REMEMBER.fullmatch(said)
        if remember is not None:
            said = remember.group("what")
        fact = _fact(said)
        if fact is not None:
            yield fact
        elif remember is not None:
            yield Fact("notes", said[:_MAX_VALUE], many=True)


def _fact(clause: str) -> Fact | None:
    for pattern, key, many in _PATTERNS:
        match = pattern.fullmatch(clause)
        if match is None:
            continue
        named = key or key_from(match.group("noun"))
        if key is None and (not named or named.split("_")[-1] in _FLEETING):
            return None
        return Fact(named, match.group("value").strip(" '\"")[:_MAX_VALUE], many)
    return None


def forgotten_in(text: str, profile: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Find what the user wants forgotten.

    Returns
    -------
    keys : list of str
        Keys of the profile that are meant.
    unknown : list of str
        What was named and is not in the profile.
    """
    keys: list[str] = []
    unknown: list[str] = []
    for clause in clauses(text):
        match = _FORGET.fullmatch(_OPENING.sub("", clause))
        if match is None or _REMEMBER.fullmatch(clause):
            continue
        what = match.group("what").strip()
        if re.match(r"(?:everything|all)\b", what, re.IGNORECASE):
            keys.extend(profile)
            continue
        key = key_meant(what, profile)
        if key is None:
            unknown.append(what)
        else:
            keys.append(key)
    return list(dict.fromkeys(keys)), unknown


def key_meant(what: str, profile: Mapping[str, Any]) -> str | None:
    """Give the profile key that a phrase such as "my favourite colour" or "where I live" stands for."""
    phrase = re.sub(r"^my\s+", "", what.strip().lower())
    as_key = key_from(phrase)
    if as_key in profile:
        return as_key
    return next(
        (key for key, names in _NAMES_OF_KEYS.items() if key in profile and phrase in names),
        None,
    )


def patches_for(facts: list[Fact], profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn facts into patches on the profile: new keys are added, other values replaced, known ones left alone."""
    after: dict[str, Any] = dict(profile)
    for fact in facts:
        if not fact.many:
            after[fact.key] = fact.value
            continue
        held = after.get(fact.key, [])
        values = held if isinstance(held, list) else [held]
        if fact.value not in values:
            after[fact.key] = [*values, fact.value]
    return [
        {"op": "replace" if key in profile else "add", "path": f"/{key}", "value": value}
        for key, value in after.items()
        if key not in profile or profile[key] != value
    ]

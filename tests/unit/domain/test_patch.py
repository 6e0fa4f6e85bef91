import json
import unicodedata
from copy import deepcopy
from datetime import timedelta
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from shared.domain.errors import InvalidKeyError, MemoryPatchError, MemorySizeError, NotFoundError
from shared.domain.patch import MAX_PATCHES, Outcome, Patch, PatchList, apply, check_profile_key, forget_key
from shared.domain.profile import AccountOverlay, Origin, ProfileChange, StoredProfile, document_bytes, merge
from tests.unit.domain.conversations import NOON, THREAD

NOW = Origin(at=NOON, thread_id=THREAD, tool_call_id="call-2")
EARLIER = Origin(at=NOON - timedelta(days=1), thread_id=THREAD, tool_call_id="call-1")
NOBODY = AccountOverlay()
LIN = AccountOverlay(name="Lin", email="lin@x.example")

BAD_PATHS = [
    # SM04
    "/0",
    "/a/b",
    "/",
    "",
    "role",
    "/../x",
    "/a.b",
    "/a b",
    "//a",
    "/~0a",
    "/a~1b",
    "/-a",
    "/a\n",
    " /a",
    "/a ",
    "/a\x00",
    "/\ud800",
    "/१x",
    "/" + "a" * 65,
    # HID-16
    "/__proto__",
    "/constructor",
    "/prototype",
    # full-width letters stay themselves under NFC, a ligature's letters do not become a name
    "/ａ b",
]


def patch(op: str, path: str, *value: Any) -> Patch:
    return Patch.model_validate({"op": op, "path": path} | ({"value": value[0]} if value else {}))


def run(
    doc: dict[str, Any],
    *patches: Patch,
    overlay: AccountOverlay = NOBODY,
    max_bytes: int = 8192,
    tombstones: frozenset[str] = frozenset(),
) -> Outcome:
    stored = StoredProfile(doc=doc, version=4, tombstones=tombstones, origins=dict.fromkeys(doc, EARLIER))
    return apply(stored, overlay, patches, max_bytes=max_bytes, origin=NOW)


def saved(outcome: Outcome) -> StoredProfile:
    assert outcome.profile is not None
    return outcome.profile


class TestShape:
    @pytest.mark.parametrize("path", BAD_PATHS)
    def test_a_path_is_a_slash_and_one_key(self, path: str) -> None:
        with pytest.raises(ValidationError):
            patch("add", path, 1)

    @pytest.mark.parametrize(
        "path", ["/a", "/_", "/A-b_9", "/" + "a" * 64, "/größe", "/имя", "/名前", "/नाम", "/toString"]
    )
    def test_keys_of_any_script(self, path: str) -> None:
        assert patch("add", path, 1).path == path

    @pytest.mark.parametrize("op", ["move", "copy", "test", "ADD", "", None])
    def test_other_operations_are_no_patch(self, op: str) -> None:
        # SM03, SE03
        with pytest.raises(ValidationError):
            patch(op, "/a", 1)

    @pytest.mark.parametrize("op", ["add", "replace"])
    def test_add_and_replace_need_a_value_which_may_be_null(self, op: str) -> None:
        # SM05
        assert patch(op, "/a", None).value is None
        with pytest.raises(ValidationError, match="needs a value"):
            patch(op, "/a")

    def test_remove_takes_none(self) -> None:
        assert patch("remove", "/a") == patch("remove", "/a", None)
        with pytest.raises(ValidationError, match="takes no value"):
            patch("remove", "/a", 1)

    def test_nothing_else_is_taken(self) -> None:
        with pytest.raises(ValidationError):
            Patch.model_validate({"op": "add", "path": "/a", "value": 1, "from": "/b"})

    def test_a_list_holds_fifty(self) -> None:
        # SM06
        adapter = TypeAdapter[Any](PatchList)
        one = {"op": "add", "path": "/a", "value": 1}
        assert adapter.validate_python([]) == []
        assert len(adapter.validate_python([one] * 50)) == 50
        with pytest.raises(ValidationError):
            adapter.validate_python([one] * 51)

    def test_one_key_in_two_encodings_is_one_key(self) -> None:
        # decision 5: NFC
        composed, decomposed = "größe", unicodedata.normalize("NFD", "größe")
        assert composed != decomposed
        assert check_profile_key(decomposed) == check_profile_key(composed) == composed
        outcome = run({}, patch("add", f"/{decomposed}", 1), patch("replace", f"/{composed}", 2))
        assert saved(outcome).doc == {composed: 2}
        # The path is echoed as it was given.
        assert outcome.result["patches"][0]["path"] == f"/{decomposed}"
        assert outcome.result["patches"][0]["key"] == composed

    @pytest.mark.parametrize("path", [path for path in BAD_PATHS if path.startswith("/")])
    def test_the_rule_is_that_of_the_delete_route_too(self, path: str) -> None:
        # AP05, HID-15: what can be saved can be deleted.
        with pytest.raises(InvalidKeyError) as refused:
            check_profile_key(path[1:])
        assert refused.value.code == "BAD_KEY"

    @given(st.text(max_size=70))
    def test_a_key_that_is_taken_is_taken_again(self, text: str) -> None:
        try:
            key = check_profile_key(text)
        except InvalidKeyError:
            return
        assert check_profile_key(key) == key
        assert len(key) <= 64
        assert not set(key) & set("/~.%?# ")


class TestWalk:
    """Section 19."""

    def test_the_table(self) -> None:
        # SM18
        outcome = run(
            {"city": "Berlin"},
            patch("add", "/name", "Lin"),
            patch("replace", "/city", "Munich"),
            patch("remove", "/city"),
            patch("add", "/city", "Hamburg"),
        )
        assert outcome.result == {
            "ok": True,
            "bytes": len('{"name":"Lin","city":"Hamburg"}'),
            "keyCount": 2,
            "before": {"city": "Berlin"},
            "after": {"name": "Lin", "city": "Hamburg"},
            "patches": [
                {"op": "add", "path": "/name", "key": "name", "value": "Lin"},
                {"op": "replace", "path": "/city", "key": "city", "oldValue": "Berlin", "value": "Munich"},
                {"op": "remove", "path": "/city", "key": "city", "oldValue": "Munich"},
                {"op": "add", "path": "/city", "key": "city", "value": "Hamburg"},
            ],
        }

    def test_add_on_an_existing_key_overwrites_and_says_so(self) -> None:
        outcome = run({"city": "Berlin"}, patch("add", "/city", "Munich"))
        assert saved(outcome).doc == {"city": "Munich"}
        assert outcome.result["patches"] == [
            {"op": "add", "path": "/city", "key": "city", "oldValue": "Berlin", "value": "Munich"}
        ]

    def test_what_a_patch_added_the_next_can_replace(self) -> None:
        outcome = run({}, patch("add", "/x", 1), patch("replace", "/x", 2))
        assert outcome.result["after"] == {"x": 2}
        assert outcome.result["patches"][1]["oldValue"] == 1

    @pytest.mark.parametrize("second", [patch("replace", "/c", 2), patch("remove", "/c")])
    def test_what_a_patch_removed_the_next_does_not_find(self, second: Patch) -> None:
        with pytest.raises(MemoryPatchError):
            run({"c": 1}, patch("remove", "/c"), second)

    @pytest.mark.parametrize("key", ["city", "constructors", "toString", "keys", "__class__"])
    @pytest.mark.parametrize("op", ["replace", "remove"])
    def test_replace_and_remove_need_the_key(self, op: str, key: str) -> None:
        # SM09, SE05: own keys only
        with pytest.raises(MemoryPatchError, match=f"/{key}") as refused:
            run({"other": 1}, patch(op, f"/{key}", *([1] if op == "replace" else [])))
        assert refused.value.code == "PATCH_FAILED"

    def test_stored_null_is_there(self) -> None:
        outcome = run({"city": None}, patch("replace", "/city", "Oslo"))
        assert outcome.result["patches"][0]["oldValue"] is None


class TestStored:
    def test_only_what_was_saved_or_named_is_stored(self) -> None:
        # SM11
        outcome = run({"city": "Oslo"}, patch("add", "/role", "pilot"), overlay=LIN)
        assert saved(outcome).doc == {"city": "Oslo", "role": "pilot"}
        assert outcome.result["after"] == {"city": "Oslo", "role": "pilot", "name": "Lin", "email": "lin@x.example"}
        assert outcome.result["keyCount"] == 2
        assert outcome.result["bytes"] == document_bytes(saved(outcome).doc)

    def test_a_patched_key_of_the_account_is_memory_s_from_then_on(self) -> None:
        # SM07, SM12
        outcome = run({}, patch("replace", "/name", "Bo"), overlay=LIN)
        assert saved(outcome).doc == {"name": "Bo"}
        assert outcome.result["patches"][0]["oldValue"] == "Lin"
        assert merge(saved(outcome), LIN) == {"name": "Bo", "email": "lin@x.example"}

    @pytest.mark.parametrize("doc", [{}, {"name": "Bo"}])
    def test_a_removed_key_of_the_account_stays_away(self, doc: dict[str, Any]) -> None:
        # Decision 5: what the model was told is what the next turn reads, saved key or not.
        outcome = run(doc, patch("remove", "/name"), overlay=LIN)
        assert saved(outcome).tombstones == {"name"}
        assert saved(outcome).doc == {}
        assert outcome.result["after"] == {"email": "lin@x.example"} == merge(saved(outcome), LIN)

    def test_a_removed_key_that_the_account_does_not_have_needs_no_tombstone(self) -> None:
        assert (
            saved(run({"name": "Bo", "city": "Oslo"}, patch("remove", "/name"), patch("remove", "/city"))).tombstones
            == frozenset()
        )

    def test_what_has_a_tombstone_is_not_there(self) -> None:
        with pytest.raises(MemoryPatchError):
            run({}, patch("replace", "/name", "Bo"), overlay=LIN, tombstones=frozenset({"name"}))

    def test_a_later_add_clears_the_tombstone(self) -> None:
        outcome = run({}, patch("add", "/name", "Bo"), overlay=LIN, tombstones=frozenset({"name", "email"}))
        assert saved(outcome).tombstones == {"email"}
        assert "oldValue" not in outcome.result["patches"][0]
        assert outcome.result["after"] == {"name": "Bo"}

    def test_each_key_keeps_where_its_value_was_said(self) -> None:
        outcome = run(
            {"city": "Oslo", "role": "pilot", "pet": "cat"}, patch("replace", "/city", "Rome"), patch("remove", "/pet")
        )
        assert saved(outcome).origins == {"city": NOW, "role": EARLIER}

    def test_a_key_of_unknown_origin_is_kept(self) -> None:
        stored = StoredProfile(doc={"city": "Oslo"}, version=1)
        outcome = apply(stored, NOBODY, [patch("add", "/role", "pilot")], max_bytes=100, origin=NOW)
        assert saved(outcome).doc == {"city": "Oslo", "role": "pilot"}
        assert saved(outcome).origins == {"role": NOW}

    def test_a_write_is_one_version_on_and_leaves_a_line_in_the_log(self) -> None:
        outcome = run({"city": "Oslo"}, patch("remove", "/city"))
        assert saved(outcome).version == 5
        assert outcome.change == ProfileChange(patches=tuple(outcome.result["patches"]), actor="model", origin=NOW)

    def test_the_log_names_who_was_at_work(self) -> None:
        outcome = apply(StoredProfile(), NOBODY, [patch("add", "/a", 1)], max_bytes=100, origin=NOW, actor="user")
        assert outcome.change is not None
        assert outcome.change.actor == "user"

    def test_no_patches_are_a_success_that_writes_nothing(self) -> None:
        # SM06, AMB-33: even over a limit that was lowered since.
        outcome = run({"city": "Oslo"}, overlay=LIN, max_bytes=1)
        assert (outcome.profile, outcome.change) == (None, None)
        merged = {"city": "Oslo", "name": "Lin", "email": "lin@x.example"}
        assert outcome.result == {
            "ok": True,
            "bytes": 15,
            "keyCount": 1,
            "before": merged,
            "after": merged,
            "patches": [],
        }

    def test_more_than_fifty_are_refused_here_too(self) -> None:
        with pytest.raises(MemoryPatchError, match="50"):
            run({}, *[patch("add", "/a", 1)] * (MAX_PATCHES + 1))
        assert saved(run({}, *[patch("add", "/a", n) for n in range(MAX_PATCHES)])).doc == {"a": 49}


class TestLimits:
    def test_the_limit_itself_fits(self) -> None:
        # SM13
        fits = "x" * (8192 - len('{"a":""}'))
        outcome = run({}, patch("add", "/a", _spaced(fits)))
        assert outcome.result["bytes"] == 8192
        with pytest.raises(MemorySizeError) as refused:
            run({}, patch("add", "/a", _spaced(fits + "x")))
        assert (refused.value.attempted_bytes, refused.value.max_bytes) == (8193, 8192)
        assert refused.value.code == "MEMORY_SIZE_EXCEEDED"

    def test_bytes_count_not_characters(self) -> None:
        # AMB-15
        assert run({}, patch("add", "/a", "林林"), max_bytes=14).result["bytes"] == 14
        with pytest.raises(MemorySizeError):
            run({}, patch("add", "/a", "林林"), max_bytes=13)

    def test_the_account_does_not_count(self) -> None:
        # SM14
        account = AccountOverlay(name="n" * 10_000, avatar="https://x.example/" + "a" * 10_000)
        assert run({}, patch("add", "/a", 1), overlay=account, max_bytes=7).result["bytes"] == 7

    def test_only_the_end_of_the_list_is_measured(self) -> None:
        assert run({}, patch("add", "/a", "word " * 100), patch("replace", "/a", 1), max_bytes=7).result["ok"]

    @pytest.mark.parametrize(
        "value", ["data:image/png;base64,AAAA", {"k": ["A" * 512]}, float("nan"), "\ud800", {1}, 10**1000]
    )
    @pytest.mark.parametrize("op", ["add", "replace"])
    def test_a_value_without_place_in_memory_fails_the_list(self, op: str, value: Any) -> None:
        # SM21
        with pytest.raises(MemoryPatchError, match=r"Patch 2 .*Nothing was saved"):
            run({"a": 1}, patch("add", "/b", 2), patch(op, "/a", value))


def _spaced(text: str) -> str:
    """Text of the same length that is no run of base64."""
    return "".join(" " if place % 100 == 99 else char for place, char in enumerate(text))


class TestForget:
    STORED = StoredProfile(
        doc={"city": {"name": "Oslo"}, "name": "Bo"},
        version=4,
        tombstones=frozenset({"email"}),
        origins={"city": EARLIER, "name": EARLIER},
    )

    def test_a_saved_key_goes_and_the_log_says_so(self) -> None:
        # AP04, DL01
        profile, change = forget_key(self.STORED, "city", NOW)
        assert profile == StoredProfile(
            doc={"name": "Bo"}, version=5, tombstones=frozenset({"email"}), origins={"name": EARLIER}
        )
        assert change == ProfileChange(
            patches=({"op": "remove", "path": "/city", "key": "city", "oldValue": {"name": "Oslo"}},),
            actor="user",
            origin=NOW,
        )

    def test_the_account_shows_again_behind_a_forgotten_key(self) -> None:
        profile, _ = forget_key(self.STORED, "name", NOW)
        assert merge(profile, LIN) == {"city": {"name": "Oslo"}, "name": "Lin"}

    @pytest.mark.parametrize("key", ["email", "avatar", "role", "toString"])
    def test_what_was_not_saved_cannot_be_forgotten(self, key: str) -> None:
        # AP06: a key of the account neither.
        with pytest.raises(NotFoundError) as refused:
            forget_key(self.STORED, key, NOW)
        assert refused.value.code == "NOT_FOUND"

    @pytest.mark.parametrize("key", ["", "..", "%2F", "a" * 65, "a/b", "__proto__"])
    def test_what_can_be_no_key_is_told_apart(self, key: str) -> None:
        # AP05
        with pytest.raises(InvalidKeyError):
            forget_key(self.STORED, key, NOW)

    def test_the_profile_itself_does_not_change(self) -> None:
        before = deepcopy(self.STORED)
        profile, _ = forget_key(self.STORED, "name", NOW)
        profile.doc["city"]["name"] = "Rome"
        _, change = forget_key(self.STORED, "city", NOW)
        change.patches[0]["oldValue"]["name"] = "Rome"
        assert before == self.STORED


KEYS = st.sampled_from(["a", "b", "name", "email", "größe"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("xy", max_size=2),
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text("k", max_size=2), v, max_size=2),
    max_leaves=4,
)
PATCHES = st.lists(
    st.one_of(
        st.builds(
            lambda op, key, value: patch(op, f"/{key}", value), st.sampled_from(["add", "replace"]), KEYS, VALUES
        ),
        st.builds(lambda key: patch("remove", f"/{key}"), KEYS),
    ),
    max_size=6,
)
STORED = st.builds(
    lambda doc, tombstones: StoredProfile(doc=doc, version=1, tombstones=frozenset(tombstones) - doc.keys()),
    st.dictionaries(KEYS, VALUES),
    st.sets(st.sampled_from(["name", "email"])),
)
OVERLAYS = st.sampled_from([NOBODY, LIN, AccountOverlay(name="")])


@given(STORED, OVERLAYS, PATCHES)
def test_patches_do_what_rfc_6902_says_or_nothing(
    stored: StoredProfile, overlay: AccountOverlay, patches: list[Patch]
) -> None:
    # SM10, SM15, SM16, SM17; the library is the judge of what each operation does.
    inputs = deepcopy((stored, overlay, patches))
    operations = [p.model_dump(exclude_unset=True) for p in patches]
    try:
        expected = jsonpatch.apply_patch(merge(stored, overlay), operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        with pytest.raises(MemoryPatchError):
            apply(stored, overlay, patches, max_bytes=8192, origin=NOW)
        return
    outcome = apply(stored, overlay, patches, max_bytes=8192, origin=NOW)
    assert outcome.result["before"] == merge(stored, overlay)
    assert outcome.result["after"] == expected
    assert [p["path"] for p in outcome.result["patches"]] == [p.path for p in patches]
    json.dumps(outcome.result)
    if outcome.profile is not None:
        assert merge(outcome.profile, overlay) == expected
        assert outcome.profile.doc.keys() == expected.keys() & (stored.doc.keys() | {p.key for p in patches})
        assert not outcome.profile.tombstones & outcome.profile.doc.keys()
        assert outcome.profile.origins.keys() <= outcome.profile.doc.keys()
    assert (stored, overlay, patches) == inputs


@given(STORED, OVERLAYS, PATCHES)
def test_patches_again_end_the_same(stored: StoredProfile, overlay: AccountOverlay, patches: list[Patch]) -> None:
    # SM25, where the list can be applied again at all
    try:
        once = apply(stored, overlay, patches, max_bytes=8192, origin=NOW).profile or stored
        twice = apply(once, overlay, patches, max_bytes=8192, origin=NOW).profile or once
    except MemoryPatchError:
        return
    assert (twice.doc, twice.tombstones) == (once.doc, once.tombstones)


@given(STORED, OVERLAYS, PATCHES)
def test_the_echo_undoes_the_list(stored: StoredProfile, overlay: AccountOverlay, patches: list[Patch]) -> None:
    # What the log keeps is enough to go back: old values are those of the moment.
    try:
        result = apply(stored, overlay, patches, max_bytes=8192, origin=NOW).result
    except MemoryPatchError:
        return
    view = deepcopy(result["after"])
    for echo in reversed(result["patches"]):
        if "oldValue" in echo:
            view[echo["key"]] = echo["oldValue"]
        else:
            del view[echo["key"]]
    assert view == result["before"]


def _add_to_every_list(value: Any) -> None:
    for member in value.values() if isinstance(value, dict) else value:
        if isinstance(member, dict | list | tuple):
            _add_to_every_list(member)
    if isinstance(value, list):
        value.append("z")


def test_what_is_stored_logged_and_told_share_nothing_with_each_other_or_with_what_came_in() -> None:
    # M12
    def patches() -> list[Patch]:
        return [patch("add", "/new", {"tags": ["a"]}), patch("replace", "/old", ["c"]), patch("remove", "/gone")]

    def stored() -> StoredProfile:
        return StoredProfile(doc={"old": {"tags": ["b"]}, "gone": ["d"], "kept": ["e"]}, version=1)

    def parts() -> tuple[Any, ...]:
        given_patches, profile = patches(), stored()
        outcome = apply(profile, LIN, given_patches, max_bytes=1000, origin=NOW)
        assert outcome.change is not None
        result = outcome.result
        return (
            [p.value for p in given_patches if p.value],
            profile.doc,
            saved(outcome).doc,
            outcome.change.patches,
            result["before"],
            result["after"],
            result["patches"],
        )

    untouched = parts()
    for touched in range(len(untouched)):
        mine = parts()
        _add_to_every_list(mine[touched])
        others = [n for n in range(len(untouched)) if n != touched]
        assert [mine[n] for n in others] == [untouched[n] for n in others]
        assert mine[touched] != untouched[touched]

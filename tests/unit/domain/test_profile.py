import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import NotJsonError
from shared.domain.profile import (
    OVERLAY_KEYS,
    AccountOverlay,
    StoredProfile,
    document_bytes,
    key_label,
    merge,
    overlay_from_claims,
    overlay_values,
    store_keys,
)

LIN = AccountOverlay(
    name="Lin", email="lin@x.example", avatar="https://x.example/lin.png", socials=("Google", "GitHub")
)
GOOGLE = {"userId": "1089", "providerName": "Google", "providerType": "Google", "primary": "true", "dateCreated": "17"}
GITHUB = {"userId": "4711", "providerName": "GitHub", "providerType": "OIDC", "issuer": "https://github.example"}
NATIVE = {"userId": "u", "providerName": "Cognito", "providerType": "Cognito"}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
DOCS = st.dictionaries(st.sampled_from([*OVERLAY_KEYS, "city", "role"]), JSON)
OVERLAYS = st.builds(
    AccountOverlay,
    name=st.none() | st.text(max_size=5),
    email=st.none() | st.text(max_size=5),
    avatar=st.none() | st.text(max_size=5),
    socials=st.lists(st.sampled_from(["Google", "GitHub"]), max_size=2, unique=True).map(tuple),
)


class TestClaims:
    def test_the_account_of_a_whole_token(self) -> None:
        # decision 8
        claims = {
            "sub": "u",
            "name": "Lin",
            "email": "lin@x.example",
            "email_verified": True,
            "picture": "https://x.example/lin.png",
            "identities": [GOOGLE, GITHUB],
        }
        assert overlay_from_claims(claims) == LIN

    def test_a_token_without_any_of_it(self) -> None:
        assert overlay_from_claims({"sub": "u"}) == AccountOverlay()

    @pytest.mark.parametrize("verified", ["true", True])
    def test_a_verified_address_counts(self, verified: object) -> None:
        # The authorizer of a REST API hands claims on as strings.
        assert overlay_from_claims({"email": "e", "email_verified": verified}).email == "e"

    @pytest.mark.parametrize("verified", ["false", False, None, "", 1, "True!", ["true"]])
    def test_an_address_nobody_verified_does_not(self, verified: object) -> None:
        assert overlay_from_claims({"email": "e", "email_verified": verified}).email is None
        assert overlay_from_claims({"email": "e"}).email is None

    @pytest.mark.parametrize(
        "claim",
        [
            [GOOGLE, GITHUB],
            json.dumps([GOOGLE, GITHUB]),
            f"{json.dumps(GOOGLE)},{json.dumps(GITHUB)}",
            [NATIVE, GOOGLE, GITHUB, GOOGLE],
            [GOOGLE, {"providerName": ""}, {"providerName": 4}, {}, "x", None, GITHUB, {"providerName": "COGNITO"}],
        ],
    )
    def test_providers_are_read_by_name_alone(self, claim: object) -> None:
        # M07, M08, SE06
        assert overlay_from_claims({"identities": claim}).socials == ("Google", "GitHub")

    def test_one_identity_without_a_list(self) -> None:
        assert overlay_from_claims({"identities": GOOGLE}).socials == ("Google",)
        assert overlay_from_claims({"identities": json.dumps(GOOGLE)}).socials == ("Google",)

    @pytest.mark.parametrize("claim", [None, "", "[", "not json", "4", 4, [], "[]", [NATIVE], "[" * 100_000, True])
    def test_nothing_linked(self, claim: object) -> None:
        assert overlay_from_claims({"identities": claim}).socials == ()

    @pytest.mark.parametrize(
        "picture", ["data:image/png;base64,AAAA", "DATA:,x", " data:image/png;base64,AAAA", None, 4, {}]
    )
    def test_a_picture_within_the_token_is_no_avatar(self, picture: object) -> None:
        # M10
        assert overlay_from_claims({"picture": picture}).avatar is None

    def test_empty_strings_are_values(self) -> None:
        # M05
        assert overlay_from_claims({"name": "", "picture": ""}) == AccountOverlay(name="", avatar="")

    @pytest.mark.parametrize("name", [None, 4, ["Lin"], "Lin\ud800"])
    def test_a_name_that_is_no_text_is_none(self, name: object) -> None:
        assert overlay_from_claims({"name": name}).name is None

    def test_nothing_secret_gets_through(self) -> None:
        # M09
        secrets = {"accountId": "s3cret", "access_token": "s3cret", "refresh_token": "s3cret", "id_token": "s3cret"}
        overlay = overlay_from_claims({**secrets, "identities": [GOOGLE | secrets], "at_hash": "s3cret"})
        assert "s3cret" not in json.dumps(merge(StoredProfile(), overlay))
        assert "1089" not in json.dumps(merge(StoredProfile(), overlay))


class TestMerge:
    def test_the_keys_of_the_account_in_order(self) -> None:
        # M02
        assert OVERLAY_KEYS == ("name", "email", "avatar", "socials")
        assert tuple(overlay_values(LIN)) == OVERLAY_KEYS

    def test_a_new_user_has_what_the_account_has(self) -> None:
        # M01, M07
        assert merge(StoredProfile(), AccountOverlay()) == {}
        assert merge(StoredProfile(), LIN) == {
            "name": "Lin",
            "email": "lin@x.example",
            "avatar": "https://x.example/lin.png",
            "socials": [{"provider": "Google"}, {"provider": "GitHub"}],
        }

    @pytest.mark.parametrize("saved", ["Bo", None, "", [], 0, False])
    def test_what_was_saved_wins_whatever_it_is(self, saved: object) -> None:
        # M03, M06
        assert merge(StoredProfile(doc={"name": saved}), LIN)["name"] == saved

    def test_a_profile_nobody_wrote_is_empty_and_has_version_zero(self) -> None:
        # M01
        assert StoredProfile() == StoredProfile(doc={}, version=0, tombstones=frozenset(), origins={})

    def test_what_the_account_does_not_have_fills_nothing(self) -> None:
        # M04, M05
        assert merge(StoredProfile(doc={"city": "Oslo"}), AccountOverlay(name="")) == {"city": "Oslo", "name": ""}

    def test_a_tombstone_keeps_the_account_out(self) -> None:
        # decision 5
        merged = merge(StoredProfile(tombstones=frozenset({"email", "socials"})), LIN)
        assert list(merged) == ["name", "avatar"]

    def test_saved_keys_are_those_of_the_document(self) -> None:
        # M11
        assert store_keys(StoredProfile(doc={"city": 1, "name": 2})) == {"city", "name"}
        assert store_keys(StoredProfile()) == frozenset()

    @given(DOCS, OVERLAYS, st.sets(st.sampled_from(OVERLAY_KEYS)))
    def test_the_merge_is_a_copy_and_each_key_has_one_owner(
        self, doc: dict[str, Any], overlay: AccountOverlay, tombstones: set[str]
    ) -> None:
        # M12
        stored = StoredProfile(doc=doc, tombstones=frozenset(tombstones))
        before = deepcopy(stored)
        merged = merge(stored, overlay)
        fillable = overlay_values(overlay)
        assert merged.keys() == doc.keys() | (fillable.keys() - tombstones)
        assert all(merged[key] == (doc[key] if key in doc else fillable[key]) for key in merged)
        _scribble(merged)
        assert stored == before
        assert overlay_values(overlay) == fillable


def _scribble(value: Any) -> None:
    for inner in list(value.values() if isinstance(value, Mapping) else value):
        if isinstance(inner, dict | list):
            _scribble(inner)
    value.clear()


class TestMeasure:
    @pytest.mark.parametrize(
        ("doc", "size"),
        [
            ({}, 2),
            ({"a": 1}, 7),
            ({"a": [1, None, True]}, 19),
            ({"name": "林"}, 14),
            ({"a": "😀"}, 12),
            ({"é": "\n"}, 11),
        ],
    )
    def test_bytes_are_those_of_compact_json_in_utf8(self, doc: dict[str, Any], size: int) -> None:
        # AMB-15
        assert document_bytes(doc) == size

    def test_what_is_no_json_has_no_size(self) -> None:
        with pytest.raises(NotJsonError):
            document_bytes({"a": float("nan")})


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("travel_preferences", "Travel Preferences"),  # M13
        ("favourite-city", "Favourite City"),
        ("name", "Name"),
        ("__odd__key", "Odd Key"),
        ("iOS_version", "IOS Version"),
        ("größe", "Größe"),
        ("_", ""),
    ],
)
def test_keys_are_written_for_people(key: str, label: str) -> None:
    assert key_label(key) == label

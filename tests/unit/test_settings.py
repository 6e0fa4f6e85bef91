import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.settings import (
    ChatSettings,
    FunctionSettings,
    KbIngestSettings,
    MemoryApiSettings,
    MemoryKnobs,
    PurgeSettings,
    SummarizeSettings,
)

MODELS: list[type[FunctionSettings]] = [
    ChatSettings,
    SummarizeSettings,
    MemoryApiSettings,
    PurgeSettings,
    KbIngestSettings,
]


def required(model: type[FunctionSettings]) -> dict[str, Any]:
    return {name: f"the-{name}" for name, field in model.model_fields.items() if field.is_required()}


@pytest.mark.parametrize("model", MODELS)
def test_what_infra_writes_the_function_reads_back(model: type[FunctionSettings]) -> None:
    settings = model.model_validate(required(model) | {"stage": "prod", "log_level": "DEBUG"})
    environment = settings.environment()
    assert all(name == name.upper() and isinstance(value, str) for name, value in environment.items())
    assert model.from_environment(environment) == settings


@pytest.mark.parametrize("model", MODELS)
def test_defaults_hold_where_a_variable_is_not_there_and_others_are_not_read(model: type[FunctionSettings]) -> None:
    environment = {name.upper(): value for name, value in required(model).items()}
    settings = model.from_environment(environment | {"PATH": os.defpath, "HOME": "/"})
    assert settings == model.model_validate(required(model))


@pytest.mark.parametrize("model", MODELS)
def test_a_missing_variable_without_default_stops_the_start(model: type[FunctionSettings]) -> None:
    for missing in required(model):
        environment = {name.upper(): value for name, value in required(model).items() if name != missing}
        with pytest.raises(ValidationError, match=missing):
            model.from_environment(environment)


def test_settings_do_not_change() -> None:
    settings = PurgeSettings(memory_table="m", checkpoint_table="c")
    with pytest.raises(ValidationError):
        settings.stage = "prod"


@pytest.mark.parametrize(
    ("name", "default", "least"),
    [
        ("memory_thread_summary_keep_recent", 10, 0),  # CF01
        ("memory_thread_messages_buffer_recent_turns", 5, 0),  # CF02
        ("memory_profile_max_bytes", 8192, 1),  # CF03
    ],
)
@pytest.mark.parametrize("model", [ChatSettings, SummarizeSettings, MemoryApiSettings])
def test_the_seed_s_knobs(model: type[MemoryKnobs], name: str, default: int, least: int) -> None:
    def read(**given: Any) -> int:
        return getattr(
            model.model_validate(
                {key: f"the-{key}" for key, f in model.model_fields.items() if f.is_required()} | given
            ),
            name,
        )

    assert read() == default
    for value in ("", " ", "ten", "1.5", "0x10", "nan", "-1", str(least - 1)):
        assert read(**{name: value}) == default, value
    for value in (least, 3, 100):
        assert read(**{name: str(value)}) == read(**{name: value}) == value
    assert read(**{name: " 7 "}) == 7


@given(st.text())
def test_any_text_is_read_as_a_knob(text: str) -> None:
    # CF01: a value nobody meant must not stop the function.
    assert MemoryKnobs(memory_thread_summary_keep_recent=text).memory_thread_summary_keep_recent >= 0


def test_agents_are_names_with_commas() -> None:
    environment = {name.upper(): value for name, value in required(ChatSettings).items()}
    settings = ChatSettings.from_environment(environment | {"AGENTS": " chat, weather ,,"})
    assert settings.agents == ("chat", "weather")
    assert settings.environment()["AGENTS"] == "chat,weather"
    assert len(ChatSettings.from_environment(environment).agents) == 4


@pytest.mark.parametrize(("wait", "fits"), [(0, True), (31, True), (30, False), (0.5, False)])
def test_who_waits_for_a_thread_outlasts_a_dead_run(wait: float, fits: bool) -> None:
    values = required(ChatSettings) | {"lease_seconds": 30, "enqueue_seconds": wait}
    if fits:
        assert ChatSettings.model_validate(values).enqueue_seconds == wait
    else:
        with pytest.raises(ValidationError, match="enqueue_seconds"):
            ChatSettings.model_validate(values)


@pytest.mark.parametrize(("hold", "renew", "fits"), [(30, 10, True), (20, 10, True), (19, 10, False), (10, 30, False)])
def test_a_lease_outlasts_a_renewal_that_failed(hold: int, renew: int, fits: bool) -> None:
    values = required(ChatSettings) | {"lease_seconds": hold, "lease_renew_seconds": renew}
    if fits:
        assert ChatSettings.model_validate(values).lease_seconds == hold
    else:
        with pytest.raises(ValidationError, match="lease_seconds"):
            ChatSettings.model_validate(values)

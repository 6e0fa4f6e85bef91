"""What the person at the terminal may choose."""

import pytest

from local.faults import LocalFault
from local.settings import LocalSettings


def test_defaults_need_nothing():
    assert LocalSettings.from_environment({"PATH": "/bin", "MODEL": ""}) == LocalSettings()


def test_variables_are_read():
    settings = LocalSettings.from_environment({"MODEL": "openai", "LOCAL_PORT": "9000", "OPENAI_ALLOW_REMOTE": "1"})
    assert (settings.model, settings.local_port, settings.openai_allow_remote) == ("openai", 9000, True)


@pytest.mark.parametrize(
    ("variable", "value"), [("MODEL", "gpt"), ("LOCAL_PORT", "many"), ("LOCAL_PORT", "70000"), ("DEMO_PAUSE", "-1")]
)
def test_nonsense_is_refused_by_name(variable, value):
    with pytest.raises(LocalFault, match=variable):
        LocalSettings.from_environment({variable: value})

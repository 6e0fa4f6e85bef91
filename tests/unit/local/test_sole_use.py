"""Two local products do not write one state."""

import pytest

from local.faults import LocalFault
from local.layout import Layout
from local.sole_use import sole_use


def test_second_use_of_a_folder_is_refused_and_the_next_is_not(tmp_path):
    layout = Layout(tmp_path / "state")
    with sole_use(layout), pytest.raises(LocalFault, match="stop it first"), sole_use(layout):
        pass
    with sole_use(layout):
        pass


def test_other_folders_are_free(tmp_path):
    with sole_use(Layout(tmp_path / "one")), sole_use(Layout(tmp_path / "two")):
        pass

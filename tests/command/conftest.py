"""Fixtures for command lines."""

import pytest
from command_lines import CONTEXTS


@pytest.fixture
def folder(tmp_path):
    """An empty directory but for `mine.py`, which has contexts."""
    (tmp_path / "mine.py").write_text(CONTEXTS)
    return tmp_path

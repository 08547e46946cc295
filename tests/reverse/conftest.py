import pytest

from ctxdispatch_contexts.programs.entry import Entry


@pytest.fixture
def tried(monkeypatch):
    """The sources of which a program was to be made."""
    seen = []
    differentiated = Entry.differentiated

    def noted(self, types, *mode):
        seen.append(self.source)
        return differentiated(self, types, *mode)

    monkeypatch.setattr(Entry, "differentiated", noted)
    return seen

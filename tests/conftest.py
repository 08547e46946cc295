"""Hypothesis draws the same examples each time, so that a change is judged by what it changes.

`HYPOTHESIS_PROFILE=explore python -m pytest` looks for new ones.
"""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

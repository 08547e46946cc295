"""One generator of programs that every path must agree on: `python -m tests.paths --help`."""

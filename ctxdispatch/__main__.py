"""`python -m ctxdispatch`: see `ctxdispatch.command`."""

import sys

from ctxdispatch.command import main

if __name__ == "__main__":
    sys.exit(main())

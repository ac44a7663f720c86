"""`python -m examples.support_desk`."""

import sys

from .demo import run

raise SystemExit(run(sys.argv[1:]))

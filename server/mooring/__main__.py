"""``python -m mooring``."""

import sys

from mooring.cli import main

sys.exit(main())

"""``python -m mooring_extender``."""

import sys

from mooring_extender.cli import main

sys.exit(main())

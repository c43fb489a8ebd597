"""``python -m mooring_expander``."""

import sys

from mooring_expander.expander import main

sys.exit(main())

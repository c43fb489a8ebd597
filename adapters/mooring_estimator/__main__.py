"""``python -m mooring_estimator``."""

import sys

from mooring_estimator.estimator import main

sys.exit(main())

"""Parts that only mooring's own calls pass: rights, pools, and slots for plugins."""

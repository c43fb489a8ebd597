"""What mooring's own calls pass beside what all do: who may call what, pools, and slots for plugins."""

"""The plugins that come with mooring: kube-scheduler's in-tree ones and those of other systems.

One folder per plugin: ``plugin.py``, its arguments in ``args.py`` where it takes any, and a README.
``in_tree`` lists them all; ``unsupported`` lists the in-tree names that are not built.
"""

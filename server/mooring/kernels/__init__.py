"""Work on arrays, with numpy or compiled: arrays in, arrays out. No pod and no plugin is known here.

The same module has both forms of a kernel, the compiled one and the one for numpy. They give the same.

- ``arrays``: their types, and the numbers with a meaning of their own.
- ``compile``: loops that numba compiles, and ``built``, where an image has them.
- ``percentages``: shares of a whole, as scores.
- ``select``: which rows have the highest total, and which of them pods get.
- ``resources``: how much of a node is left, how full it is, and how evenly.
- ``resource_totals``: totals by both, in one pass.
- ``domains``: totals by the counts of a topology's domains.
"""

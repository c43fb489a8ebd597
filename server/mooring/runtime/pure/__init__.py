"""The reads of plugins that promise to be ``Pure``, and their answers by the values read.

The records of a few calls form a tree: an inner node is a read, an edge the value read, a leaf an answer. A
pure function decides by the values read so far what it reads next, so equal values always lead to the same
leaf. Nothing is ever invalidated, because the keys are the values themselves. See "verifying traces" in Build
Systems à la Carte (Mokhov, Mitchell, Peyton Jones, 2018).
"""

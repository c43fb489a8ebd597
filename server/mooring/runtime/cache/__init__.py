"""The evaluation cache: what was evaluated for one pod answers for all pods with its signature.

Its rooms, each of which imports only those below it:

- ``answers``: decisions, batches and totals, when they are true, and how they are checked.
- ``lookup``: from a pod to its template, its signature, and the evaluation of all pods with it.
- ``layers``: the parts of an evaluation. Static scores stay while pods come and go. Resource scores depend on
  a node's amounts alone. Dynamic scores are computed for each pod. Totals add them up, in a ranking.
- ``tracking``: reads the change log for all evaluations.
"""

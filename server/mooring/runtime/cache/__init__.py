"""The evaluation cache: what was evaluated for one pod answers for all pods with its signature.

``evaluation_cache`` finds the ``cached_evaluation`` for a pod by its ``pod_signature``. It consists of
``static_scores``, which stay while pods come and go, ``resource_scores``, which depend on a node's
allocatable and requested resources alone, and ``dynamic_scores``, computed again for each pod;
``change_tracker`` reads the change log for all of them, ``ranking`` keeps the totals in order.
"""

SELF_CHECK_EVERY = 1000
"""By default one cached answer in this many is compared with a full evaluation.

It is here so that help texts can name it without importing the cache."""

"""The evaluation cache: what was evaluated for one pod answers for all pods with its signature.

``evaluation_cache`` finds the ``cached_evaluation`` for a pod by its ``pod_signature``. It consists of
``static_scores``, which stand while pods come and go, ``resource_scores``, which depend on a node's
allocatable and requested resources alone, and ``dynamic_scores``, asked again for each pod;
``change_tracker`` reads the change log for all of them, ``ranking`` keeps the totals in order.
"""

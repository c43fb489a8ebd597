"""The scheduling cycle for one pod, by the framework's rules, without any cache.

``cycle`` reads from top to bottom like ``schedulingCycle`` in ``schedule_one.go``; each extension point has
a module of its name.
"""

"""The kube-scheduler extender of mooring: HTTP and JSON on one side, mooring.v1 on the other.

``HttpServer(ExtenderApp(make_client, options), host, port)`` is all of it; the command ``mooring-extender``
runs one in a process of its own, and ``mooring serve --extender-listen`` runs one with the service.
"""

"""The messages and the service of plugin hosts, generated from protos/mooring/plugin_host/v1."""

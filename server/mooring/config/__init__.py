"""KubeSchedulerConfiguration: the one configuration of mooring, read, checked, shown and converted."""

from mooring.config.catalog import MULTI_POINT, POINTS, Catalog, PluginDescription
from mooring.config.configuration import Configuration, EffectiveProfile
from mooring.config.convert import convert
from mooring.config.documents import text_under
from mooring.config.errors import ConfigError
from mooring.config.expand import EnabledPlugin
from mooring.config.lines import lines_of
from mooring.config.load import check, default, from_document, load, plugin_hosts
from mooring.config.reserving import advise_on_calls, check_calls, check_ignored, check_reserving
from mooring.config.schema import schema
from mooring.config.show import in_force, resolved, show
from mooring.config.types import LeaderElectionConfiguration, PluginHostStanza

__all__ = [
    "MULTI_POINT",
    "POINTS",
    "Catalog",
    "ConfigError",
    "Configuration",
    "EffectiveProfile",
    "EnabledPlugin",
    "LeaderElectionConfiguration",
    "PluginDescription",
    "PluginHostStanza",
    "advise_on_calls",
    "check",
    "check_calls",
    "check_ignored",
    "check_reserving",
    "convert",
    "default",
    "from_document",
    "in_force",
    "lines_of",
    "load",
    "plugin_hosts",
    "resolved",
    "schema",
    "show",
    "text_under",
]

import dev.mooring.pluginhost.Plugin;
import dev.mooring.pluginhost.Rule;
import dev.mooring.pluginhost.Values;

/** Prefers the nodes with the largest free part of their memory. */
final class $name {
  static final String OFFERED = "allocatable[memory]";
  static final String REQUESTED = "requested[memory]";

  private $name() {}

  /** An empty node has 100 points, a full one none. */
  static long score(Values pod, Values node) {
    var offered = node.number(OFFERED);
    return offered == 0 ? 0 : 100 * Math.max(offered - node.number(REQUESTED), 0) / offered;
  }

  static Plugin plugin() {
    return Plugin.named("$name", args -> new Rule().score($name::score))
        .nodeColumns(OFFERED, REQUESTED);
  }
}

import dev.mooring.pluginhost.Plugin;
import dev.mooring.pluginhost.Rejection;
import dev.mooring.pluginhost.Rule;
import dev.mooring.pluginhost.Values;

/** Keeps a pod to the nodes of the tier that it asks for. */
final class $name {
  static final String WANTED = "metadata.annotations[example.com/tier]";
  static final String TIER = "metadata.labels[example.com/tier]";

  private $name() {}

  static Rejection filter(Values pod, Values node) {
    if (!pod.has(WANTED) || pod.text(WANTED).equals(node.text(TIER))) {
      return null;
    }
    return new Rejection("node(s) didn't have the tier that the pod asks for", true);
  }

  static Plugin plugin() {
    return Plugin.named("$name", args -> new Rule().filter($name::filter))
        .podFields(WANTED)
        .nodeColumns(TIER);
  }
}

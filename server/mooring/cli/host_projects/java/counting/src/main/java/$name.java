import dev.mooring.pluginhost.Plugin;
import dev.mooring.pluginhost.Rejection;
import dev.mooring.pluginhost.Rule;
import dev.mooring.pluginhost.Values;

/** Limits the pods of one app in each rack. */
final class $name {
  static final String APP = "metadata.labels[app]";
  static final String IN_RACK = "counted[app by example.com/rack]";
  static final long MOST = 2;

  private $name() {}

  /** Pods without the label are not limited. */
  static Rejection filter(Values pod, Values node) {
    if (!pod.has(APP) || node.number(IN_RACK) < MOST) {
      return null;
    }
    return new Rejection("node(s) were in a rack with enough pods of the app", false);
  }

  static Plugin plugin() {
    return Plugin.named("$name", args -> new Rule().filter($name::filter))
        .podFields(APP)
        .nodeColumns(IN_RACK);
  }
}

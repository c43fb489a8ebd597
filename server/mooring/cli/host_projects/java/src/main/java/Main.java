import dev.mooring.pluginhost.Plugin;
import dev.mooring.pluginhost.PluginHost;
import dev.mooring.pluginhost.Rejection;
import dev.mooring.pluginhost.Rule;
import dev.mooring.pluginhost.Values;

/** Serves the plugin $name, which rejects nodes in maintenance, and prefers the rack that the pod asks for. */
final class Main {
  static final String WANTED = "metadata.annotations[example.com/rack]";
  static final String RACK = "metadata.labels[example.com/rack]";
  static final String MAINTENANCE = "metadata.labels[example.com/maintenance]";

  private Main() {}

  static Rejection filter(Values pod, Values node) {
    return node.has(MAINTENANCE) ? new Rejection("node(s) were in maintenance", true) : null;
  }

  static long score(Values pod, Values node) {
    return pod.has(WANTED) && pod.text(WANTED).equals(node.text(RACK)) ? 100 : 0;
  }

  public static void main(String... arguments) throws Exception {
    var plugin =
        Plugin.named("$name", args -> new Rule().filter(Main::filter).score(Main::score))
            .podFields(WANTED)
            .nodeColumns(RACK, MAINTENANCE);
    PluginHost.serve(arguments[0], "0.1.0", plugin).awaitTermination();
  }
}

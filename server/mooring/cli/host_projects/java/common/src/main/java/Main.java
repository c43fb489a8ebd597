import dev.mooring.pluginhost.PluginHost;

/** Serves the plugin $name. */
final class Main {
  private Main() {}

  public static void main(String... arguments) throws Exception {
    PluginHost.serve(arguments[0], "0.1.0", $name.plugin()).awaitTermination();
  }
}

import dev.mooring.plugin_host.v1.MeasurementDescription;
import dev.mooring.plugin_host.v1.Normalizer;
import dev.mooring.pluginhost.Plugin;
import dev.mooring.pluginhost.Rule;
import dev.mooring.pluginhost.Values;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Prefers the nodes with the lowest load, which it reads in the background. */
final class $name {
  static final String LOAD = "$name";
  static final String MEASURED = "measured[" + LOAD + "]";
  static final Path FILE = Path.of("load.txt");

  private $name() {}

  static long score(Values pod, Values node) {
    return node.number(MEASURED);
  }

  static Map<String, Long> measure(String name) {
    try {
      return parsed(Files.readString(FILE));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Returns the loads by node; each line has a node and its load. */
  static Map<String, Long> parsed(String text) {
    var loads = new HashMap<String, Long>();
    for (var line : text.lines().toList()) {
      var words = line.strip().split(" +");
      if (words.length == 2) {
        loads.put(words[0], Long.valueOf(words[1]));
      }
    }
    return loads;
  }

  static Plugin plugin() {
    return Plugin.named("$name", args -> new Rule().score($name::score).measure($name::measure))
        .nodeColumns(MEASURED)
        .normalizer(Normalizer.NORMALIZER_BY_MAX_REVERSED)
        .measurement(MeasurementDescription.newBuilder().setName(LOAD).setUnmeasuredAsHighest(true).build());
  }
}

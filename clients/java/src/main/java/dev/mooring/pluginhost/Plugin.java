package dev.mooring.pluginhost;

import dev.mooring.plugin_host.v1.MeasurementDescription;
import dev.mooring.plugin_host.v1.Normalizer;
import dev.mooring.plugin_host.v1.PluginDescription;
import java.util.List;
import java.util.function.Function;

/** Declares what a plugin reads, and makes a rule for each profile that names it. */
public final class Plugin {
  private final Function<String, Rule> rules;
  private final PluginDescription.Builder declared = PluginDescription.newBuilder();

  private Plugin(String name, Function<String, Rule> rules) {
    this.rules = rules;
    declared.setName(name).addAllPoints(rules.apply("null").points());
  }

  /**
   * Returns a plugin.
   *
   * @param name its name in configurations, in PascalCase
   * @param rules makes a rule of the arguments, a JSON document, which is null without any; called once with null to find the
   *     rule's points. Throws {@link ArgumentException}
   */
  public static Plugin named(String name, Function<String, Rule> rules) {
    return new Plugin(name, rules);
  }

  /** Declares the values that it reads of the pod, such as metadata.labels[app] or requests[cpu]. */
  public Plugin podFields(String... names) {
    declared.addAllPodFields(List.of(names));
    return this;
  }

  /** Declares the values that it reads of a node, such as metadata.labels[rack] or requested[cpu]. */
  public Plugin nodeColumns(String... names) {
    declared.addAllNodeColumns(List.of(names));
    return this;
  }

  /** Brings raw scores to 0 to 100. Without it they are 0 to 100. */
  public Plugin normalizer(Normalizer normalizer) {
    declared.setNormalizer(normalizer);
    return this;
  }

  /** Declares a value of nodes that its rule measures. */
  public Plugin measurement(MeasurementDescription measurement) {
    declared.addMeasurements(measurement);
    return this;
  }

  PluginDescription described() {
    return declared.build();
  }

  Rule rule(String arguments) {
    return rules.apply(arguments);
  }
}

package dev.mooring.pluginhost;

import dev.mooring.plugin_host.v1.Normalizer;

/** Serves the rules of tests/plugin_hosts/rules.py, as a host in Java. */
final class Rules {
  private static final String ZONE = "metadata.labels[topology.kubernetes.io/zone]";
  private static final String GPU = "metadata.labels[gpu]";
  private static final String APP = "metadata.labels[app]";
  private static final String IN_ZONE = "counted[app by topology.kubernetes.io/zone]";
  private static final String USES = "metadata.labels[version]";
  private static final String WEIGHT = "metadata.labels[weight]";
  private static final String ON_HOST = "counted[version by kubernetes.io/hostname]";
  private static final String LOAD = "measured[load]";
  private static final String OFFERED = "allocatable[memory]";
  private static final String REQUESTED = "requested[memory]";

  private Rules() {}

  private static Rule.Filter maintained(Rejection no) {
    return (pod, node) -> node.text(GPU).isEmpty() ? null : no;
  }

  private static long left(Values node) {
    var own = node.has(WEIGHT) ? node.text(WEIGHT) : "2";
    return (own.matches("-?[0-9]+") ? Long.parseLong(own) : 0) - node.number(ON_HOST);
  }

  private static Rejection underlay(Values pod, Values node) {
    if (!pod.has(USES) || pod.text("spec.hostNetwork").equals("true")) {
      return null;
    }
    if (node.has(GPU)) {
      return new Rejection("node(s) were masters", true);
    }
    return left(node) > 0 ? null : new Rejection("no free underlay IP");
  }

  private static Rejection requests(Values pod, Values node) {
    var priority = pod.number("spec.priority");
    if (!node.text("spec.taints").equals("[]") && priority == 0) {
      return new Rejection("tainted");
    }
    return node.text("metadata.name").endsWith("3") && priority > 5 ? new Rejection("odd", true) : null;
  }

  private static long free(Values pod, Values node) {
    var offered = Math.max(node.number(OFFERED), 1);
    return 100 * Math.max(offered - node.number(REQUESTED), 0) / offered;
  }

  private static long rack(Values pod, Values node) {
    var wanted = pod.text(APP);
    return !wanted.isEmpty() && node.text(ZONE).equals(wanted) ? 100 : 0;
  }

  private static Plugin plugin(String name, Rule rule) {
    return Plugin.named(name, arguments -> rule);
  }

  public static void main(String... arguments) throws Exception {
    var maintenance = "node(s) in maintenance";
    var enough = new Rejection("rack(s) had enough pods of the app");
    PluginHost.serve(
            arguments[0],
            "1",
            plugin("FilterLabel", new Rule().filter(maintained(new Rejection(maintenance)))).nodeColumns(GPU),
            plugin("ScoreFree", new Rule().score(Rules::free)).nodeColumns(OFFERED, REQUESTED),
            plugin("Rack", new Rule().filter(maintained(new Rejection(maintenance, true))).score(Rules::rack))
                .podFields(APP)
                .nodeColumns(GPU, ZONE),
            plugin("CountPerRack", new Rule().filter((pod, node) -> node.number(IN_ZONE) >= 4 ? enough : null))
                .nodeColumns(IN_ZONE),
            plugin("UnderlayLike", new Rule().filter(Rules::underlay).score((pod, node) -> Math.max(left(node), 0)))
                .podFields(USES, "spec.hostNetwork")
                .nodeColumns(GPU, WEIGHT, ON_HOST)
                .normalizer(Normalizer.NORMALIZER_BY_MAX),
            plugin("Traffic", new Rule().score((pod, node) -> node.number(LOAD)))
                .nodeColumns(LOAD)
                .normalizer(Normalizer.NORMALIZER_BY_MAX_REVERSED),
            plugin("Requests", new Rule().filter(Rules::requests))
                .podFields("spec.priority", "requests[cpu]")
                .nodeColumns("spec.taints", "metadata.name"))
        .awaitTermination();
  }
}

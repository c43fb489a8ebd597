/**
 * Serves plugins that mooring calls: write {@code filter} and {@code score} over named values.
 *
 * <pre>{@code
 * var rack =
 *     Plugin.named("Rack", arguments -> new Rule().score((pod, node) -> {
 *           var wanted = pod.text("metadata.annotations[example.com/rack]");
 *           return !wanted.isEmpty() && wanted.equals(node.text("metadata.labels[example.com/rack]")) ? 100 : 0;
 *         }))
 *         .podFields("metadata.annotations[example.com/rack]")
 *         .nodeColumns("metadata.labels[example.com/rack]");
 * PluginHost.serve("unix:/run/rack/host.sock", "1.0", rack).awaitTermination();
 * }</pre>
 */
package dev.mooring.pluginhost;

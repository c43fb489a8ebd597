package dev.mooring.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mooring.v1.CommitOutcome;
import dev.mooring.v1.CommitMode;
import dev.mooring.v1.ErrorReason;
import dev.mooring.v1.EstimateCapacityRequest;
import dev.mooring.v1.SimulationServiceGrpc;
import dev.mooring.v1.UnreservedPod;
import dev.mooring.v1.WatchDecisionsRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a real `mooring serve` on the sample cluster, which the environment's MOORING names. */
class ServerTest {
  private record Sample(Process process, String address) implements AutoCloseable {
    static Sample listening(String listen) throws IOException {
      var program = System.getenv().getOrDefault("MOORING", "../../.venv/bin/mooring");
      var process =
          new ProcessBuilder(
                  program, "serve", "--source", "sample", "--listen", listen, "--health-listen", "127.0.0.1:0",
                  "--metrics-listen", "127.0.0.1:0", "--drain-delay", "0s")
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      var lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      var ready = Pattern.compile("^mooring ready: grpc=(\\S+).*");
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        var found = ready.matcher(line);
        if (found.matches()) {
          return new Sample(process, found.group(1));
        }
      }
      throw new IOException("mooring serve did not become ready");
    }

    MooringClient client() {
      return MooringClient.builder(address).timeout(Duration.ofSeconds(60)).build();
    }

    @Override
    public void close() {
      process.destroy();
      process.onExit().join();
    }
  }

  private static Pod small(String name) {
    return Pod.json(
        """
        {"metadata": {"name": "%s", "namespace": "default", "uid": "%s"},
         "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "10m"}}}]}}"""
            .formatted(name, name));
  }

  @Test
  void theAnswersAboutTheSampleClusterAgree(@TempDir Path folder) throws IOException {
    try (var server = Sample.listening("unix:" + folder.resolve("s"));
        var client = server.client()) {
      var question = Question.about(small("one"));
      var filtered = client.filter(question);
      var feasible = filtered.nodes().stream().filter(NodeVerdict::feasible).map(NodeVerdict::node).toList();
      var totals = client.score(question.among(feasible)).totals();
      assertTrue(totals.size() > 1);
      var explained = client.explain(question);
      for (var i = 0; i < explained.nodes().size(); i++) {
        var node = explained.nodes().get(i);
        assertEquals(filtered.nodes().get(i), new NodeVerdict(node.node(), node.verdict()));
        assertEquals(totals.getOrDefault(node.node(), -1L), node.total().orElse(-1));
      }
      var placement = client.schedule(Batch.of(Pods.of(small("one")))).placements().get(0);
      assertEquals(explained.node(), placement.node());
      assertEquals(totals.get(explained.node()), placement.total());
      assertEquals(filtered.nodes().size(), client.listNodes("").names().size());
      try (var watch = client.watchNodes()) {
        assertEquals(client.listNodes("").names(), watch.next().added());
      }
      try (var watch = client.watchDecisions(WatchDecisionsRequest.newBuilder().setAfterSeq(0).build())) {
        assertTrue(watch.next().getDecisionsCount() > 0);
      }
    }
  }

  @Test
  void commitsAndSessions() throws IOException {
    try (var server = Sample.listening("127.0.0.1:0");
        var client = server.client()) {
      var uids = IntStream.range(0, 100).mapToObj(i -> "u" + i).toList();
      var names = IntStream.range(0, 100).mapToObj(i -> "many-" + i).toList();
      var batch = Batch.of(new Pods(small("many"), uids, names)).withMode(CommitMode.COMMIT_MODE_RESERVE);
      var session = client.openSession();
      var mark = session.mark();
      var tried = client.schedule(batch.in(session)).placements();
      assertEquals(0, session.revert(mark).getChangeCount());
      var capacity =
          EstimateCapacityRequest.newBuilder().setSession(session.id()).addShapes(small("shape").source()).build();
      assertTrue(client.call(SimulationServiceGrpc.getEstimateCapacityMethod(), capacity).getShapes(0).getCount() > 100);
      session.close();
      assertEquals(
          ErrorReason.ERROR_REASON_SESSION_NOT_FOUND, assertThrows(MooringException.class, session::mark).reason());

      var done = client.schedule(batch).placements();
      for (var i = 0; i < done.size(); i++) {
        assertTrue(done.get(i).ok());
        assertEquals(tried.get(i).node(), done.get(i).node());
      }
      var first = Pod.reference("default", "many-0", "u0");
      assertEquals(CommitOutcome.COMMIT_OUTCOME_LOCAL, client.bind(first, done.get(0).node()));
      assertEquals(99, client.listReservations().size());
      assertTrue(client.unreserve(uids.subList(1, 100)).stream().allMatch(UnreservedPod::getReleased));
      var failed = assertThrows(MooringException.class, () -> client.bind(first, "nowhere"));
      assertNotEquals(ErrorReason.ERROR_REASON_UNSPECIFIED, failed.reason());
    }
  }

  @Test
  void theClientOfTheReadme() throws IOException, InterruptedException {
    var source = Files.readString(Path.of("examples/First.java"));
    assertTrue(Files.readString(Path.of("README.md")).contains("```java\n" + source + "```\n"), "another program");
    try (var server = Sample.listening("127.0.0.1:0")) {
      var java = ProcessHandle.current().info().command().orElse("java");
      var run =
          new ProcessBuilder(
                  java, "-cp", System.getProperty("java.class.path"), "examples/First.java", server.address())
              .redirectErrorStream(true)
              .start();
      var output = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, run.waitFor(), output);
      assertTrue(output.matches("web-1 \\S+ \\nweb-2 \\S+ \\n"), output);
    }
  }
}

package dev.mooring.client;

import static dev.mooring.client.FakeServer.SUCCESS;
import static dev.mooring.client.FakeServer.WEB;
import static dev.mooring.client.FakeServer.failure;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;
import dev.mooring.v1.CommitOutcome;
import dev.mooring.v1.BindRequest;
import dev.mooring.v1.BindResponse;
import dev.mooring.v1.CallError;
import dev.mooring.v1.CommitMode;
import dev.mooring.v1.ErrorReason;
import dev.mooring.v1.OpenSessionRequest;
import dev.mooring.v1.OpenSessionResponse;
import dev.mooring.v1.PodReference;
import dev.mooring.v1.ReserveRequest;
import dev.mooring.v1.ReserveResponse;
import dev.mooring.v1.Session;
import io.grpc.Status;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class RepeatTest {
  private static final PodReference POD = Pod.reference("default", "web", "u");
  private static final OpenSessionResponse OPENED =
      OpenSessionResponse.newBuilder().setSession(Session.newBuilder().setId("s1")).build();
  private static final BindResponse BOUND =
      BindResponse.newBuilder().setOutcome(CommitOutcome.COMMIT_OUTCOME_BOUND).build();

  static Stream<Arguments> rules() throws IOException {
    var table = JsonParser.parseString(Files.readString(Path.of("../contract/repeats.json"))).getAsJsonObject();
    assertTrue(table.size() >= 30);
    return table.entrySet().stream().map(each -> Arguments.of(each.getKey(), each.getValue().getAsString()));
  }

  @ParameterizedTest
  @MethodSource("rules")
  void everyReasonHasItsRule(String reason, String rule) {
    assertDoesNotThrow(() -> ErrorReason.valueOf("ERROR_REASON_" + reason));
    var reserved = ReserveResponse.newBuilder().setVerdict(SUCCESS).build();
    try (var server =
            new FakeServer()
                .answers("Reserve", failure(Code.ABORTED, reason, Map.of()), reserved)
                .answers("OpenSession", failure(Code.ABORTED, reason, Map.of()), OPENED);
        var client = server.client()) {
      outcome(Set.of("always", "idempotent", "leader").contains(rule), () -> client.reserve(WEB, "n1"));
      outcome(Set.of("always", "leader").contains(rule), client::openSession);
      assertEquals(
          Set.of("always", "idempotent", "leader").contains(rule) ? 2 : 1, server.requests(ReserveRequest.class).size());
      assertEquals(Set.of("always", "leader").contains(rule) ? 2 : 1, server.requests(OpenSessionRequest.class).size());
    }
  }

  private static void outcome(boolean again, Runnable call) {
    if (again) {
      call.run();
    } else {
      assertThrows(MooringException.class, call::run);
    }
  }

  @ParameterizedTest
  @CsvSource({"UNAVAILABLE, true", "CANCELLED, true", "RESOURCE_EXHAUSTED, false", "ABORTED, false", "INTERNAL, false"})
  void withoutAReasonOnlyALostConnectionIsRepeated(Code code, boolean again) {
    try (var server = new FakeServer().answers("Bind", failure(code, "", Map.of()), BOUND);
        var client = server.client()) {
      outcome(again, () -> client.bind(POD, "n1"));
      assertEquals(again ? 2 : 1, server.requests(BindRequest.class).size());
    }
  }

  static Stream<Arguments> brokenConnections() {
    return Stream.of(
        Arguments.of("closed", Status.UNKNOWN.withCause(new ClosedChannelException()), Code.UNAVAILABLE),
        Arguments.of("within", Status.UNKNOWN.withCause(new RuntimeException(new IOException("reset"))), Code.UNAVAILABLE),
        Arguments.of("a fault of the client", Status.UNKNOWN.withCause(new IllegalStateException()), Code.UNKNOWN),
        Arguments.of("told by the server", Status.UNKNOWN, Code.UNKNOWN),
        Arguments.of("another code", Status.CANCELLED.withCause(new ClosedChannelException()), Code.CANCELLED));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("brokenConnections")
  void aConnectionThatBreaksIsUnavailable(String name, Status status, Code code) {
    assertEquals(code, MooringException.of(status.asRuntimeException()).code());
  }

  @Test
  void aReasonOfALaterServerIsNotRepeated() {
    var error = CallError.newBuilder().setReasonValue(999).putMetadata("moon", "full").build();
    try (var server = new FakeServer().answers("Bind", failure(Code.UNAVAILABLE, error));
        var client = server.client()) {
      var failed = assertThrows(MooringException.class, () -> client.bind(POD, "n1"));
      assertEquals(ErrorReason.UNRECOGNIZED, failed.reason());
      assertEquals(999, failed.reasonNumber());
      assertEquals(Map.of("moon", "full"), failed.metadata());
      assertEquals(1, server.requests(BindRequest.class).size());
    }
  }

  static Stream<Arguments> calls() {
    var batch = Batch.of(Pods.of(WEB));
    return Stream.of(
        call("dry run", "Schedule", true, c -> c.schedule(batch)),
        call("reserve", "Schedule", true, c -> c.schedule(batch.withMode(CommitMode.COMMIT_MODE_RESERVE))),
        call("bind", "Schedule", true, c -> c.schedule(batch.withMode(CommitMode.COMMIT_MODE_BIND))),
        call("dry run in a session", "Schedule", true, c -> c.schedule(batch.in(c.session("s1")))),
        call(
            "place in a session",
            "Schedule",
            true,
            c -> c.schedule(batch.in(c.session("s1")).withMode(CommitMode.COMMIT_MODE_RESERVE))),
        call("change", "ChangeSession", false, c -> c.session("s1").change(OpenSession.remove("Node", "", "n1"))),
        call("mark", "MarkSession", false, c -> c.session("s1").mark()),
        call("revert", "RevertSession", false, c -> c.session("s1").revert(1)),
        call("commit", "CommitSession", false, c -> c.session("s1").commit(1)),
        call("close", "CloseSession", true, c -> c.session("s1").close()));
  }

  private static Arguments call(String name, String method, boolean again, Consumer<MooringClient> call) {
    return Arguments.of(name, method, again, call);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("calls")
  void onlyWhatMayBeMadeTwiceIs(String name, String method, boolean again, Consumer<MooringClient> call) {
    try (var server =
            new FakeServer().answers(method, failure(Code.UNAVAILABLE, "", Map.of()), failure(Code.NOT_FOUND, "", Map.of()));
        var client = server.client()) {
      var failed = assertThrows(MooringException.class, () -> call.accept(client));
      assertEquals(again ? Code.NOT_FOUND : Code.UNAVAILABLE, failed.code());
    }
  }

  @Test
  void repeatsEndWithTheTimeOfTheCaller() {
    try (var server = new FakeServer().answers("Bind", failure(Code.UNAVAILABLE, "NOT_SYNCED", Map.of()));
        var client = server.client()) {
      var failed =
          assertThrows(MooringException.class, () -> client.within(Duration.ofSeconds(3)).bind(POD, "n1"));
      assertEquals(ErrorReason.ERROR_REASON_NOT_SYNCED, failed.reason());
      assertTrue(failed.repeatable());
      var count = server.requests(BindRequest.class).size();
      assertTrue(count >= 2 && count <= 12, "calls: " + count);
    }
  }

  @Test
  void pausesGrow() {
    var failure = failure(Code.UNAVAILABLE, "NOT_SYNCED", Map.of());
    try (var server = new FakeServer().answers("Bind", failure, failure, failure, failure, BOUND);
        var client = server.client()) {
      client.bind(POD, "n1");
      var least = List.of(25, 50, 100, 200);
      for (var i = 0; i < least.size(); i++) {
        var pause = TimeUnit.NANOSECONDS.toMillis(server.times.get(i + 1) - server.times.get(i));
        assertTrue(pause >= least.get(i), "pause " + i + ": " + pause + " ms");
      }
    }
  }

  @Test
  void timeThatIsOverIsTold() {
    try (var server = new FakeServer().answers("Bind", FakeServer.SILENCE);
        var client = server.client().within(Duration.ofMillis(300))) {
      var failed = assertThrows(MooringException.class, () -> client.bind(POD, "n1"));
      assertEquals(Code.DEADLINE_EXCEEDED, failed.code());
    }
  }

  @Test
  void anInterruptedThreadGivesUpAndStaysInterrupted() throws InterruptedException {
    try (var server = new FakeServer().answers("Bind", failure(Code.UNAVAILABLE, "NOT_SYNCED", Map.of()));
        var client = server.client()) {
      var codes = new java.util.concurrent.ArrayBlockingQueue<Object>(2);
      var caller =
          new Thread(
              () -> {
                codes.add(assertThrows(MooringException.class, () -> client.bind(POD, "n1")).code());
                codes.add(Thread.currentThread().isInterrupted());
              });
      caller.start();
      server.called.await();
      caller.interrupt();
      caller.join();
      assertEquals(List.of(Code.CANCELLED, true), List.copyOf(codes));
    }
  }

  @Test
  void commitsGoToTheLeader() {
    try (var leader =
            new FakeServer().answers("Bind", failure(Code.RESOURCE_EXHAUSTED, "OVERLOADED", Map.of()), BOUND);
        var follower = new FakeServer().answers("Bind", notLeader(leader)).answers("OpenSession", OPENED);
        var client = follower.client()) {
      assertEquals(CommitOutcome.COMMIT_OUTCOME_BOUND, client.bind(POD, "n1"));
      assertEquals(CommitOutcome.COMMIT_OUTCOME_BOUND, client.bind(POD, "n1"));
      assertEquals(1, follower.requests(BindRequest.class).size());
      assertEquals(3, leader.requests(BindRequest.class).size());
      client.openSession(); // What commits nothing stays.
    }
  }

  @Test
  void aLostLeaderIsAskedForAgain() {
    try (var first = new FakeServer().answers("Bind", failure(Code.UNAVAILABLE, "", Map.of()));
        var second = new FakeServer().answers("Bind", BOUND);
        var follower = new FakeServer().answers("Bind", notLeader(first), notLeader(second));
        var client = follower.client()) {
      assertEquals(CommitOutcome.COMMIT_OUTCOME_BOUND, client.bind(POD, "n1"));
    }
  }

  private static Exception notLeader(FakeServer leader) {
    return failure(Code.UNAVAILABLE, "NOT_LEADER", Map.of("leader_address", leader.address()));
  }
}

package dev.mooring.client;

import static dev.mooring.client.FakeServer.REJECTED;
import static dev.mooring.client.FakeServer.SUCCESS;
import static dev.mooring.client.FakeServer.WEB;
import static dev.mooring.client.FakeServer.all;
import static dev.mooring.client.FakeServer.failure;
import static dev.mooring.client.FakeServer.indices;
import static dev.mooring.client.FakeServer.names;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.mooring.v1.CallError;
import dev.mooring.v1.CommitMode;
import dev.mooring.v1.ErrorReason;
import dev.mooring.v1.ExplainResponse;
import dev.mooring.v1.FieldViolation;
import dev.mooring.v1.FilterRequest;
import dev.mooring.v1.FilterResponse;
import dev.mooring.v1.ListNodesRequest;
import dev.mooring.v1.ListNodesResponse;
import dev.mooring.v1.NodeVerdicts;
import dev.mooring.v1.PluginScores;
import dev.mooring.v1.Provenance;
import dev.mooring.v1.ReserveRequest;
import dev.mooring.v1.ReserveResponse;
import dev.mooring.v1.ScheduleRequest;
import dev.mooring.v1.ScheduleResponse;
import dev.mooring.v1.ScoreRequest;
import dev.mooring.v1.ScoreResponse;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class UnpackTest {
  private static final NodeVerdicts FEASIBLE = NodeVerdicts.newBuilder().addDistinct(SUCCESS).build();
  private static final Pod DB = Pod.json("{\"metadata\": {\"name\": \"db\"}}");

  @Test
  void aBatchIsTemplatesAndColumns() {
    var answer =
        ScheduleResponse.newBuilder()
            .setNodes(names("n1", "n2", ""))
            .addVerdicts(SUCCESS)
            .addVerdicts(REJECTED)
            .addAllPodVerdicts(List.of(0, 0, 1))
            .addAllTotals(List.of(300L, 200L, 0L))
            .build();
    try (var server = new FakeServer().answers("Schedule", answer);
        var client = server.client()) {
      var web = new Pods(WEB, List.of("u1", "u2"), List.of("web-1", "web-2"));
      var db = new Pods(DB, List.of("u3"), List.of("db-1"));
      var placed = client.schedule(Batch.of(web, db).withMode(CommitMode.COMMIT_MODE_RESERVE)).placements();
      var sent = server.requests(ScheduleRequest.class).get(0);
      assertEquals(2, sent.getTemplatesCount());
      assertEquals(List.of(0, 0, 1), sent.getPods().getTemplateIndicesList());
      assertEquals(List.of("web-1", "web-2", "db-1"), sent.getPods().getNamesList());
      assertEquals(List.of("u1", "u2", "u3"), placed.stream().map(Placement::uid).toList());
      assertEquals(List.of("n1", "n2", ""), placed.stream().map(Placement::node).toList());
      assertEquals(List.of(300L, 200L, 0L), placed.stream().map(Placement::total).toList());
      assertEquals(List.of(true, true, false), placed.stream().map(Placement::ok).toList());
    }
  }

  static Stream<Batch> impossible() {
    return Stream.of(
        Batch.of(new Pods(WEB, List.of("u1", "u2"), List.of("web-1"))),
        Batch.of(new Pods(WEB, List.of("u1"), List.of("web-1")), Pods.of(DB, List.of("u2"))),
        Batch.of(Pods.of(WEB, List.of("u1")), Pods.of(DB)));
  }

  @ParameterizedTest
  @MethodSource("impossible")
  void whatCannotBeSentFailsAtOnce(Batch batch) {
    try (var server = new FakeServer();
        var client = server.client()) {
      assertThrows(IllegalArgumentException.class, () -> client.schedule(batch));
    }
  }

  @Test
  void aPodIsJsonOrProtobufOrKnown() {
    try (var server = new FakeServer().answers("Reserve", ReserveResponse.newBuilder().setVerdict(SUCCESS).build());
        var client = server.client()) {
      var encoded = ByteString.copyFromUtf8("\n\005\n\003web");
      for (var pod : List.of(WEB, Pod.protobuf(encoded), Pod.known("default", "web", "u1"))) {
        client.reserve(pod, "n1");
      }
      var sent = server.requests(ReserveRequest.class).stream().map(ReserveRequest::getPod).toList();
      assertFalse(sent.get(0).getObject().getJson().isEmpty());
      assertEquals(encoded, sent.get(1).getObject().getProtobuf());
      assertEquals("u1", sent.get(2).getReference().getUid());
    }
  }

  @Test
  void nodesWithoutVerdictsAreAllFeasible() {
    var answer = FilterResponse.newBuilder().setVerdict(SUCCESS).setNodes(indices(7, 0, 1)).setVerdicts(FEASIBLE).build();
    try (var server = new FakeServer().answers("Filter", answer).answers("ListNodes", all(7, "a", "b"));
        var client = server.client()) {
      var nodes = client.filter(Question.about(WEB)).nodes();
      assertEquals(List.of("a", "b"), nodes.stream().map(NodeVerdict::node).toList());
      assertTrue(nodes.stream().allMatch(NodeVerdict::feasible));
    }
  }

  static Stream<NodeVerdicts> unfit() {
    return Stream.of(
        FEASIBLE.toBuilder().addNodeVerdicts(0).build(),
        FEASIBLE.toBuilder().addNodeVerdicts(0).addNodeVerdicts(1).build(),
        NodeVerdicts.getDefaultInstance());
  }

  @ParameterizedTest
  @MethodSource("unfit")
  void columnsThatDoNotFitAreErrors(NodeVerdicts verdicts) {
    var filtered = FilterResponse.newBuilder().setNodes(names("a", "b")).setVerdicts(verdicts).build();
    var explained = ExplainResponse.newBuilder().setNodes(names("a", "b")).setVerdicts(verdicts).build();
    try (var server = new FakeServer().answers("Filter", filtered).answers("Explain", explained);
        var client = server.client()) {
      assertThrows(MooringException.class, () -> client.filter(Question.about(WEB)));
      assertThrows(MooringException.class, () -> client.explain(Question.about(WEB)));
    }
  }

  @Test
  void anExplanationHasTheScoresOfEachNode() {
    var plugin =
        PluginScores.newBuilder()
            .setPlugin("ImageLocality")
            .addAllRaw(List.of(5L, 9L))
            .addAllNormalized(List.of(25L, 45L))
            .addAllWeighted(List.of(50L, 90L));
    var answer =
        ExplainResponse.newBuilder()
            .setVerdict(SUCCESS)
            .setNodes(indices(7, 0, 1, 2))
            .setVerdicts(FEASIBLE.toBuilder().addDistinct(REJECTED).addAllNodeVerdicts(List.of(0, 1, 0)))
            .addAllScoredPositions(List.of(0, 2))
            .addAllTotals(List.of(50L, 90L))
            .addPlugins(plugin)
            .setSelectedPosition(2)
            .build();
    try (var server = new FakeServer().answers("Explain", answer).answers("ListNodes", all(7, "a", "b", "c"));
        var client = server.client()) {
      var explained = client.explain(Question.about(WEB));
      assertEquals("c", explained.node());
      assertEquals(OptionalLong.empty(), explained.nodes().get(1).total());
      assertEquals(OptionalLong.of(90), explained.nodes().get(2).total());
      assertEquals(Map.of("ImageLocality", new Explained.Score(9, 45, 90)), explained.nodes().get(2).scores());
    }
  }

  @Test
  void scoresAreOfTheNodesThatTheServerKnows() {
    var answer =
        ScoreResponse.newBuilder()
            .setVerdicts(FEASIBLE.toBuilder().addDistinct(REJECTED).addAllNodeVerdicts(List.of(0, 1)))
            .addAllTotals(List.of(80L, 0L))
            .setWeightSum(4)
            .build();
    try (var server = new FakeServer().answers("Score", answer).answers("ListNodes", all(7, "a"));
        var client = server.client()) {
      var scored = client.score(Question.about(WEB).among(List.of("a", "gone")));
      assertEquals(Map.of("a", 80L), scored.totals());
      assertEquals(4, scored.weightSum());
      var sent = server.requests(ScoreRequest.class).get(0);
      assertEquals(List.of("a", "gone"), sent.getNodes().getNames().getNamesList());
    }
  }

  @Test
  void indicesFollowTheEpochs() {
    var stale = failure(Code.FAILED_PRECONDITION, "NODE_EPOCH_STALE", Map.of("node_epoch", "8"));
    var changes =
        ListNodesResponse.newBuilder()
            .setProvenance(Provenance.newBuilder().setNodeEpoch(8))
            .addAllIndices(List.of(0, 2))
            .setNodes(names("c", "a"))
            .addAllRemovedIndices(List.of(0, 2))
            .build();
    var answer = FilterResponse.newBuilder().setVerdict(SUCCESS).setVerdicts(FEASIBLE).build();
    try (var server = new FakeServer().answers("Filter", stale, answer).answers("ListNodes", all(7, "a", "b"), changes);
        var client = server.client()) {
      assertEquals("a", client.filter(Question.about(WEB).among(List.of("a"))).nodes().get(0).node());
      var lists = server.requests(ListNodesRequest.class);
      assertFalse(lists.get(0).hasSinceEpoch());
      assertEquals(7, lists.get(1).getSinceEpoch());
      var asked = server.requests(FilterRequest.class);
      assertEquals(List.of(0), asked.get(0).getNodes().getIndices().getIndicesList());
      assertEquals(List.of(2), asked.get(1).getNodes().getIndices().getIndicesList());
      assertEquals(8, asked.get(1).getNodes().getIndices().getNodeEpoch());
    }
  }

  @Test
  void anAnswerOfALaterEpochIsAskedForAgainUntilTheTableIsTheSame() {
    var answer = FilterResponse.newBuilder().setVerdicts(FEASIBLE);
    try (var server =
            new FakeServer()
                .answers("ListNodes", all(7, "a"), all(9, "b"))
                .answers(
                    "Filter",
                    answer.setNodes(indices(7, 0)).build(),
                    answer.setNodes(indices(8, 0)).build(),
                    answer.setNodes(indices(9, 0)).build());
        var client = server.client()) {
      assertEquals("a", client.filter(Question.about(WEB)).nodes().get(0).node());
      assertEquals("b", client.filter(Question.about(WEB)).nodes().get(0).node());
      assertEquals(3, server.requests(FilterRequest.class).size());
    }
  }

  @Test
  void fieldsThatAreWrongAreNamed() {
    var violation = FieldViolation.newBuilder().setField("node").setDescription("is empty").build();
    var error =
        CallError.newBuilder()
            .setReason(ErrorReason.ERROR_REASON_REQUEST_INVALID)
            .addFieldViolations(violation)
            .build();
    try (var server = new FakeServer().answers("Reserve", failure(Code.INVALID_ARGUMENT, error));
        var client = server.client()) {
      var failed = assertThrows(MooringException.class, () -> client.reserve(WEB, ""));
      assertEquals(ErrorReason.ERROR_REASON_REQUEST_INVALID, failed.reason());
      assertEquals(List.of(violation), failed.violations());
    }
  }
}

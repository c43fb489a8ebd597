package dev.mooring.client;

import static dev.mooring.client.FakeServer.all;
import static dev.mooring.client.FakeServer.failure;
import static dev.mooring.client.FakeServer.names;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.mooring.v1.ErrorReason;
import dev.mooring.v1.ListReservationsRequest;
import dev.mooring.v1.ListReservationsResponse;
import dev.mooring.v1.Provenance;
import dev.mooring.v1.Reservation;
import dev.mooring.v1.WatchNodesRequest;
import dev.mooring.v1.WatchNodesResponse;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WatchTest {
  private static WatchNodesResponse.Builder part(long epoch, int first, String... nodes) {
    var part =
        WatchNodesResponse.newBuilder()
            .setProvenance(Provenance.newBuilder().setNodeEpoch(epoch))
            .setNodes(names(nodes));
    for (var i = 0; i < nodes.length; i++) {
      part.addIndices(first + i);
    }
    return part;
  }

  /** One stream in parts that fails, one that ends, and one of a server that does not know the epoch any more. */
  @Test
  void aWatchGoesOn() {
    try (var server =
            new FakeServer()
                .answers(
                    "WatchNodes",
                    List.of(
                        part(7, 0, "a").setComplete(true).setMore(true).build(),
                        part(7, 1, "b", "c").setComplete(true).build(),
                        failure(Code.UNAVAILABLE, "DRAINING", Map.of())),
                    List.of(part(8, 1, "d").addAllRemovedIndices(List.of(1, 2)).build()),
                    List.of(part(3, 0, "z").setComplete(true).build()),
                    List.of(failure(Code.PERMISSION_DENIED, "FORBIDDEN", Map.of())));
        var client = server.client();
        var watch = client.watchNodes()) {
      assertEquals(new NodesUpdate(7, true, List.of("a", "b", "c"), List.of()), watch.next());
      assertEquals(new NodesUpdate(8, false, List.of("d"), List.of("b", "c")), watch.next());
      assertEquals(new NodesUpdate(3, true, List.of("z"), List.of()), watch.next());
      assertEquals(
          ErrorReason.ERROR_REASON_FORBIDDEN, assertThrows(MooringException.class, watch::next).reason());
      var asked = server.requests(WatchNodesRequest.class);
      assertFalse(asked.get(0).hasSinceEpoch());
      assertEquals(List.of(7L, 8L, 3L), asked.stream().skip(1).map(WatchNodesRequest::getSinceEpoch).toList());
    }
  }

  @Test
  void aWatchThatIsClosedEnds() {
    try (var server = new FakeServer().answers("WatchNodes", List.of(part(7, 0, "a").setComplete(true).build()));
        var client = server.client();
        var watch = client.watchNodes()) {
      assertEquals(7, watch.next().epoch());
      watch.close();
      assertEquals(Code.CANCELLED, assertThrows(MooringException.class, watch::next).code());
    }
  }

  @Test
  void pagesAreFollowedToTheEnd() {
    var last = all(7, "a", "b", "c").toBuilder().clearIndices().addIndices(2).setNodes(names("c")).build();
    var first = ListReservationsResponse.newBuilder().addReservations(Reservation.newBuilder().setNode("a"));
    var second = ListReservationsResponse.newBuilder().addReservations(Reservation.newBuilder().setNode("b"));
    try (var server =
            new FakeServer()
                .answers("ListNodes", all(7, "a", "b").toBuilder().setNextPageToken("2").build(), last)
                .answers("ListReservations", first.setNextPageToken("2").build(), second.build());
        var client = server.client()) {
      assertEquals(new Listed(7, List.of("a", "b", "c")), client.listNodes(""));
      assertEquals(List.of("a", "b"), client.listReservations().stream().map(Reservation::getNode).toList());
      assertEquals("2", server.requests(ListReservationsRequest.class).get(1).getPageToken());
    }
  }
}

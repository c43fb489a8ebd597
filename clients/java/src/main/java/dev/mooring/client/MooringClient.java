package dev.mooring.client;

import dev.mooring.v1.BindRequest;
import dev.mooring.v1.ClusterServiceGrpc;
import dev.mooring.v1.CommitOutcome;
import dev.mooring.v1.DecisionServiceGrpc;
import dev.mooring.v1.ErrorReason;
import dev.mooring.v1.ExplainRequest;
import dev.mooring.v1.ExplainResponse;
import dev.mooring.v1.ExplainStreamRequest;
import dev.mooring.v1.ExplainStreamResponse;
import dev.mooring.v1.FilterRequest;
import dev.mooring.v1.FilterResponse;
import dev.mooring.v1.FilterStreamRequest;
import dev.mooring.v1.FilterStreamResponse;
import dev.mooring.v1.ListNodesRequest;
import dev.mooring.v1.ListNodesResponse;
import dev.mooring.v1.ListReservationsRequest;
import dev.mooring.v1.NodeForm;
import dev.mooring.v1.NodeList;
import dev.mooring.v1.NodeNames;
import dev.mooring.v1.NodeSelection;
import dev.mooring.v1.OpenSessionRequest;
import dev.mooring.v1.PodReference;
import dev.mooring.v1.Reservation;
import dev.mooring.v1.ReserveRequest;
import dev.mooring.v1.ReserveResponse;
import dev.mooring.v1.SchedulingServiceGrpc;
import dev.mooring.v1.ScoreRequest;
import dev.mooring.v1.ScoreResponse;
import dev.mooring.v1.ScoreStreamRequest;
import dev.mooring.v1.ScoreStreamResponse;
import dev.mooring.v1.SimulationServiceGrpc;
import dev.mooring.v1.UnreserveManyRequest;
import dev.mooring.v1.UnreservedPod;
import dev.mooring.v1.WatchDecisionsRequest;
import dev.mooring.v1.WatchDecisionsResponse;
import dev.mooring.v1.WatchNodesRequest;
import dev.mooring.v1.WatchNodesResponse;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Calls one server. Indices, sessions and reservations are one replica's, so a target should be one process. Calls that may be
 * repeated are, in the time that each has; calls that fail throw a {@link MooringException}. Safe for concurrent use.
 */
public final class MooringClient implements AutoCloseable {
  private final Connections connections;
  private final AtomicReference<NodeTable> table;
  private final Duration timeout;

  private MooringClient(Connections connections, AtomicReference<NodeTable> table, Duration timeout) {
    this.connections = connections;
    this.table = table;
    this.timeout = timeout;
  }

  /** A client of a target: HOST:PORT, {@code unix:/PATH}, or another name that gRPC resolves. */
  public static MooringClient of(String target) {
    return builder(target).build();
  }

  /** Begins a client of a target that is not called in plain text, or else than usual. */
  public static Builder builder(String target) {
    return new Builder(target);
  }

  /** What a client is made of. */
  public static final class Builder {
    private final String target;
    private ChannelCredentials credentials = InsecureChannelCredentials.create();
    private Duration timeout = Duration.ofSeconds(10);
    private int maxAnswerBytes = 64 << 20;
    private Consumer<ManagedChannelBuilder<?>> configure = channel -> {};

    private Builder(String target) {
      this.target = target;
    }

    /** Turns TLS on: the certificate of the server's authority, in PEM. */
    public Builder tls(Path authority) throws IOException {
      return credentials(TlsChannelCredentials.newBuilder().trustManager(authority.toFile()).build());
    }

    /** Turns mutual TLS on: the certificate of the server's authority, and the client's own with its key, in PEM. */
    public Builder tls(Path authority, Path certificate, Path key) throws IOException {
      return credentials(
          TlsChannelCredentials.newBuilder()
              .trustManager(authority.toFile())
              .keyManager(certificate.toFile(), key.toFile())
              .build());
    }

    /** Credentials of gRPC. */
    public Builder credentials(ChannelCredentials credentials) {
      this.credentials = credentials;
      return this;
    }

    /** The time of a call; default 10 s. See {@link MooringClient#within}. */
    public Builder timeout(Duration timeout) {
      this.timeout = timeout;
      return this;
    }

    /** The size of the largest answer that is taken; default 64 MiB. A larger one fails the call. */
    public Builder maxAnswerBytes(int size) {
      this.maxAnswerBytes = size;
      return this;
    }

    /** More settings of gRPC, such as interceptors. */
    public Builder configure(Consumer<ManagedChannelBuilder<?>> configure) {
      this.configure = configure;
      return this;
    }

    /** The client. It connects with the first call. */
    public MooringClient build() {
      var connections =
          new Connections(
              target,
              address -> {
                var channel = Grpc.newChannelBuilder(address, credentials).maxInboundMessageSize(maxAnswerBytes);
                // The rule for repeats is the client's own.
                channel.disableRetry().disableServiceConfigLookUp();
                configure.accept(channel);
                return channel.build();
              });
      return new MooringClient(connections, new AtomicReference<>(NodeTable.NONE), timeout);
    }
  }

  /** The same client, whose calls have another time each: for repeats, pauses and refreshed lists together. */
  public MooringClient within(Duration timeout) {
    return new MooringClient(connections, table, timeout);
  }

  /** Ends the connections, those of {@link #within} included. Calls that are under way fail. */
  @Override
  public void close() {
    connections.close();
  }

  /** Makes any call of the contract, with repeats, such as {@code PluginServiceGrpc.getListPluginsMethod()}. */
  public <Q, A> A call(MethodDescriptor<Q, A> method, Q request) {
    return connections.call(method, request, deadline());
  }

  /** Decides about the pods of a batch, and with a mode reserves or binds them. */
  public Scheduled schedule(Batch batch) {
    var request = batch.request().setNodes(byName(batch.among())).build();
    return Scheduled.of(batch.uids(), call(SchedulingServiceGrpc.getScheduleMethod(), request));
  }

  /** Says of each node whether the pod may run there, and if not, why. */
  public Filtered filter(Question question) {
    var until = deadline();
    var request = FilterRequest.newBuilder().setPod(question.pod().source());
    request.setSession(question.session()).setProfile(question.profile());
    return asking(
        question,
        until,
        nodes -> {
          request.setNodes(nodes);
          if (!question.inParts()) {
            return connections.call(SchedulingServiceGrpc.getFilterMethod(), request.build(), until);
          }
          return connections.call(
              SchedulingServiceGrpc.getFilterStreamMethod(),
              FilterStreamRequest.newBuilder().setRequest(request).build(),
              FilterStreamResponse::getPart,
              FilterResponse.getDefaultInstance(),
              until);
        },
        answer -> answer.getNodes(),
        (names, answer) ->
            new Filtered(
                answer.getVerdict(),
                NodeVerdict.of(names, answer.getVerdicts()),
                answer.getProvenance(),
                answer.getWarningsList()));
  }

  /** Scores nodes, which are all taken as feasible. */
  public Scored score(Question question) {
    var until = deadline();
    var request = ScoreRequest.newBuilder().setPod(question.pod().source());
    request.setSession(question.session()).setProfile(question.profile());
    request.setIncludeTotals(true).setOmitPlugins(true);
    return asking(
        question,
        until,
        nodes -> {
          request.setNodes(nodes);
          if (!question.inParts()) {
            return connections.call(SchedulingServiceGrpc.getScoreMethod(), request.build(), until);
          }
          return connections.call(
              SchedulingServiceGrpc.getScoreStreamMethod(),
              ScoreStreamRequest.newBuilder().setRequest(request).build(),
              ScoreStreamResponse::getPart,
              ScoreResponse.getDefaultInstance(),
              until);
        },
        answer -> answer.getNodes(),
        Scored::of);
  }

  /** Places the pod as a dry run, and tells everything about each node. */
  public Explained explain(Question question) {
    var until = deadline();
    var request = ExplainRequest.newBuilder().setPod(question.pod().source());
    request.setSession(question.session()).setProfile(question.profile());
    return asking(
        question,
        until,
        nodes -> {
          request.setNodes(nodes);
          if (!question.inParts()) {
            return connections.call(SchedulingServiceGrpc.getExplainMethod(), request.build(), until);
          }
          return connections.call(
              SchedulingServiceGrpc.getExplainStreamMethod(),
              ExplainStreamRequest.newBuilder().setRequest(request).build(),
              ExplainStreamResponse::getPart,
              ExplainResponse.getDefaultInstance(),
              until);
        },
        answer -> answer.getNodes(),
        Explained::of);
  }

  /**
   * Keeps a place for the pod on a node, if its filters agree: the answer has a verdict and an outcome. The reservation ends with
   * a bind or an unreserve, or when the pod is deleted or bound by another client; never by a timer.
   */
  public ReserveResponse reserve(Pod pod, String node) {
    return reserve(pod, node, "");
  }

  /** The same with a profile. */
  public ReserveResponse reserve(Pod pod, String node, String profile) {
    var request = ReserveRequest.newBuilder().setPod(pod.source()).setNode(node).setProfile(profile).build();
    return call(SchedulingServiceGrpc.getReserveMethod(), request);
  }

  /** Ends the reservations of pods. The answers are in the order of the UIDs; one that could not be ended has an error. */
  public List<UnreservedPod> unreserve(List<String> uids) {
    var request = UnreserveManyRequest.newBuilder().addAllUids(uids).build();
    return call(SchedulingServiceGrpc.getUnreserveManyMethod(), request).getPodsList();
  }

  /**
   * The places that the server keeps: those of this client, by the name in its certificate, and those that belong to nobody.
   */
  public List<Reservation> listReservations() {
    var until = deadline();
    var listed = new ArrayList<Reservation>();
    var request = ListReservationsRequest.newBuilder();
    while (true) {
      try {
        var page = connections.call(SchedulingServiceGrpc.getListReservationsMethod(), request.build(), until);
        listed.addAll(page.getReservationsList());
        if (page.getNextPageToken().isEmpty()) {
          return listed;
        }
        request.setPageToken(page.getNextPageToken());
      } catch (MooringException failed) {
        beginAgain(failed);
        listed.clear();
        request.clearPageToken();
      }
    }
  }

  /** Binds the pod to a node. It is safe to repeat. */
  public CommitOutcome bind(PodReference pod, String node) {
    return bind(pod, node, "");
  }

  /** The same with a profile. */
  public CommitOutcome bind(PodReference pod, String node, String profile) {
    var request = BindRequest.newBuilder().setPod(pod).setNode(node).setProfile(profile).build();
    return call(SchedulingServiceGrpc.getBindMethod(), request).getOutcome();
  }

  /** Opens a session that begins with the cluster as it is now. Close it in the end; otherwise it ends by itself. */
  public OpenSession openSession() {
    return openSession("");
  }

  /** Opens a session that begins with another one's current version. */
  public OpenSession openSession(String from) {
    var request = OpenSessionRequest.newBuilder().setFromSession(from).build();
    return session(call(SimulationServiceGrpc.getOpenSessionMethod(), request).getSession().getId());
  }

  /** The session of an id that is known from elsewhere. */
  public OpenSession session(String id) {
    return new OpenSession(this, id);
  }

  /** Lists the nodes with such labels: a selector as kubectl takes it, "" for all. */
  public Listed listNodes(String labels) {
    var request = ListNodesRequest.newBuilder().setForm(NodeForm.NODE_FORM_NAMES).setLabelSelector(labels).build();
    var answer = listed(request, deadline());
    return new Listed(answer.getProvenance().getNodeEpoch(), answer.getNodes().getNames().getNamesList());
  }

  /** Follows the nodes: every one, then what changes. Goes on after failures that pass. */
  public Watch<NodesUpdate> watchNodes() {
    var state = new Object() {
      NodeTable table = NodeTable.NONE;
      WatchNodesResponse.Builder parts = WatchNodesResponse.newBuilder();
    };
    return new Watch<>(
        connections,
        ClusterServiceGrpc.getWatchNodesMethod(),
        () -> {
          state.parts.clear();
          var request = WatchNodesRequest.newBuilder().setForm(NodeForm.NODE_FORM_NAMES);
          if (state.table != NodeTable.NONE) {
            request.setSinceEpoch(state.table.epoch());
          }
          return request.build();
        },
        part -> {
          state.parts.mergeFrom(part);
          if (part.getMore()) {
            return Optional.empty();
          }
          var whole = state.parts.build();
          state.parts.clear();
          var before = state.table;
          state.table =
              before.apply(
                  ListNodesResponse.newBuilder()
                      .setProvenance(whole.getProvenance())
                      .setComplete(whole.getComplete())
                      .addAllIndices(whole.getIndicesList())
                      .setNodes(whole.getNodes())
                      .addAllRemovedIndices(whole.getRemovedIndicesList())
                      .build());
          var removed = whole.getRemovedIndicesList().stream().map(before.names()::get).filter(Objects::nonNull).toList();
          return Optional.of(
              new NodesUpdate(
                  state.table.epoch(),
                  whole.getComplete(),
                  whole.getNodes().getNames().getNamesList(),
                  whole.getComplete() ? List.of() : removed));
        });
  }

  /** Follows decisions as they are made, or those after the request's seq. Goes on after failures that pass. */
  public Watch<WatchDecisionsResponse> watchDecisions(WatchDecisionsRequest request) {
    var next = request.toBuilder();
    return new Watch<>(
        connections,
        DecisionServiceGrpc.getWatchDecisionsMethod(),
        next::build,
        response -> {
          next.setAfterSeq(response.getNextAfterSeq()).setJournalId(response.getJournalId());
          return Optional.of(response);
        });
  }

  private long deadline() {
    return System.nanoTime() + timeout.toNanos();
  }

  /** Follows the pages of a list to the end. */
  private ListNodesResponse listed(ListNodesRequest request, long until) {
    var whole = ListNodesResponse.newBuilder();
    var next = request.toBuilder();
    while (true) {
      try {
        var page = connections.call(ClusterServiceGrpc.getListNodesMethod(), next.build(), until);
        whole.mergeFrom(page);
        if (page.getNextPageToken().isEmpty()) {
          return whole.build();
        }
        next.setPageToken(page.getNextPageToken());
      } catch (MooringException failed) {
        beginAgain(failed);
        whole.clear();
        next.clearPageToken();
      }
    }
  }

  /** Throws what failed, unless the server has forgotten the pages of a list. */
  private static void beginAgain(MooringException failed) {
    if (failed.reason() != ErrorReason.ERROR_REASON_PAGE_TOKEN_STALE) {
      throw failed;
    }
  }

  /** A table of a later epoch than one that was seen. */
  private NodeTable refreshed(long seen, long until) {
    synchronized (table) {
      var current = table.get();
      if (current.epoch() == seen) {
        var request = ListNodesRequest.newBuilder().setForm(NodeForm.NODE_FORM_NAMES);
        if (current != NodeTable.NONE) {
          request.setSinceEpoch(seen);
        }
        table.set(current.apply(listed(request.build(), until)));
      }
      return table.get();
    }
  }

  /** The nodes of these names, or all, and an answer with names. */
  private static NodeSelection byName(Optional<List<String>> among) {
    var nodes = NodeSelection.newBuilder().setAnswerForm(NodeForm.NODE_FORM_NAMES);
    among.ifPresent(names -> nodes.setNames(NodeNames.newBuilder().addAllNames(names)));
    return nodes.build();
  }

  /** The same by index, unless the server doesn't know one of the names. */
  private NodeSelection byIndex(Optional<List<String>> among, long until) {
    if (among.isEmpty()) {
      return NodeSelection.newBuilder().setAnswerForm(NodeForm.NODE_FORM_INDICES).build();
    }
    var current = table.get();
    return current
        .selection(among.get())
        .or(() -> refreshed(current.epoch(), until).selection(among.get()))
        .orElseGet(() -> byName(among));
  }

  /** Asks about the nodes that are meant, again if the server's indices are others by now: the first time at once. */
  private <A, R> R asking(
      Question question,
      long until,
      Function<NodeSelection, A> call,
      Function<A, NodeList> nodesOf,
      BiFunction<List<String>, A, R> result) {
    var pauses = new Pauses(until);
    for (var first = true; ; first = false) {
      MooringException stale;
      // A session has indices of its own.
      var nodes = question.session().isEmpty() ? byIndex(question.among(), until) : byName(question.among());
      try {
        var answer = call.apply(nodes);
        var names = names(nodesOf.apply(answer), question.among(), until);
        if (names.isPresent()) {
          return result.apply(names.get(), answer);
        }
        stale = MooringException.otherEpoch();
      } catch (MooringException failed) {
        if (failed.reason() != ErrorReason.ERROR_REASON_NODE_EPOCH_STALE || !nodes.hasIndices()) {
          throw failed;
        }
        refreshed(nodes.getIndices().getNodeEpoch(), until);
        stale = failed;
      }
      if (!first && !pauses.next()) {
        throw stale.repeated();
      }
    }
  }

  /** The names of an answer's nodes; nothing if their indices are neither of the table's epoch nor of a newer one's. */
  private Optional<List<String>> names(NodeList nodes, Optional<List<String>> among, long until) {
    return switch (nodes.getNodesCase()) {
      case NODES_NOT_SET -> Optional.of(among.orElse(List.of())); // The answer is in the order of the question.
      case NAMES -> Optional.of(nodes.getNames().getNamesList());
      case INDICES -> {
        var current = table.get();
        var found = current.translate(nodes.getIndices());
        yield found.isPresent() ? found : refreshed(current.epoch(), until).translate(nodes.getIndices());
      }
      case JOINED_NAMES -> throw MooringException.broken("the answer has joined names");
    };
  }
}

package dev.mooring.client;

import com.google.protobuf.Any;
import com.google.protobuf.Message;
import dev.mooring.v1.CallError;
import dev.mooring.v1.ClusterServiceGrpc;
import dev.mooring.v1.ErrorReason;
import dev.mooring.v1.ListNodesResponse;
import dev.mooring.v1.NodeIndices;
import dev.mooring.v1.NodeList;
import dev.mooring.v1.NodeNames;
import dev.mooring.v1.Provenance;
import dev.mooring.v1.SchedulingServiceGrpc;
import dev.mooring.v1.SimulationServiceGrpc;
import dev.mooring.v1.Verdict;
import dev.mooring.v1.VerdictCode;
import io.grpc.Grpc;
import io.grpc.HandlerRegistry;
import io.grpc.InsecureServerCredentials;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

/** A server that answers what it is told to, in order; the last answer of a method stays. */
final class FakeServer extends HandlerRegistry implements AutoCloseable {
  static final Verdict SUCCESS = Verdict.newBuilder().setCode(VerdictCode.VERDICT_CODE_SUCCESS).build();
  static final Verdict REJECTED =
      Verdict.newBuilder()
          .setCode(VerdictCode.VERDICT_CODE_UNSCHEDULABLE)
          .setPlugin("NodeResourcesFit")
          .addReasons("Insufficient cpu")
          .build();
  static final Pod WEB = Pod.json("{\"metadata\": {\"name\": \"web\"}}");

  /** An answer that never comes. */
  static final Object SILENCE = new Object();

  private static final List<ServiceDescriptor> SERVICES =
      List.of(
          SchedulingServiceGrpc.getServiceDescriptor(),
          ClusterServiceGrpc.getServiceDescriptor(),
          SimulationServiceGrpc.getServiceDescriptor());

  private final Map<String, Deque<Object>> answers = new HashMap<>();
  private final List<Message> requests = new ArrayList<>();
  final List<Long> times = new ArrayList<>();
  final CountDownLatch called = new CountDownLatch(1);
  private final Server server;

  FakeServer() {
    try {
      server =
          Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
              .fallbackHandlerRegistry(this)
              .build()
              .start();
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    }
  }

  String address() {
    return "127.0.0.1:" + server.getPort();
  }

  MooringClient client() {
    return MooringClient.builder(address()).timeout(java.time.Duration.ofSeconds(5)).build();
  }

  /** Says what a method answers: messages and exceptions. */
  FakeServer answers(String method, Object... each) {
    answers.put(method, new ArrayDeque<>(Arrays.asList(each)));
    return this;
  }

  /** The requests of one type, in order. */
  synchronized <R extends Message> List<R> requests(Class<R> type) {
    return requests.stream().filter(type::isInstance).map(type::cast).toList();
  }

  @Override
  public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
    for (var service : SERVICES) {
      for (var method : service.getMethods()) {
        if (method.getFullMethodName().equals(name)) {
          return definition(method);
        }
      }
    }
    return null;
  }

  @SuppressWarnings("unchecked")
  private ServerMethodDefinition<?, ?> definition(MethodDescriptor<?, ?> method) {
    var typed = (MethodDescriptor<Message, Message>) method;
    if (typed.getType() == MethodDescriptor.MethodType.SERVER_STREAMING) {
      return ServerMethodDefinition.create(
          typed,
          ServerCalls.asyncServerStreamingCall((request, observer) -> stream(typed.getBareMethodName(), request, observer)));
    }
    return ServerMethodDefinition.create(
        typed,
        ServerCalls.asyncUnaryCall((request, observer) -> answer(typed.getBareMethodName(), request, observer)));
  }

  private synchronized void answer(String method, Message request, StreamObserver<Message> observer) {
    requests.add(request);
    times.add(System.nanoTime());
    called.countDown();
    var left = answers.get(method);
    if (left == null) {
      observer.onError(Status.INTERNAL.withDescription(method + " was not expected").asException());
      return;
    }
    var answer = left.size() > 1 ? left.remove() : left.peek();
    if (answer instanceof Throwable failure) {
      observer.onError(failure);
    } else if (answer != SILENCE) {
      observer.onNext((Message) answer);
      observer.onCompleted();
    }
  }

  /** Sends a list of messages, then a failure at its end, or ends. */
  private synchronized void stream(String method, Message request, StreamObserver<Message> observer) {
    requests.add(request);
    for (var each : (List<?>) answers.get(method).remove()) {
      if (each instanceof Throwable failure) {
        observer.onError(failure);
        return;
      }
      observer.onNext((Message) each);
    }
    observer.onCompleted();
  }

  @Override
  public void close() {
    server.shutdownNow();
  }

  /** An error as the server makes it. */
  static StatusRuntimeException failure(Status.Code code, String reason, Map<String, String> metadata) {
    var status = com.google.rpc.Status.newBuilder().setCode(code.value()).setMessage("no");
    if (!reason.isEmpty()) {
      var value = ErrorReason.valueOf("ERROR_REASON_" + reason);
      status.addDetails(Any.pack(CallError.newBuilder().setReason(value).putAllMetadata(metadata).build()));
    }
    return StatusProto.toStatusRuntimeException(status.build());
  }

  /** An error with this detail. */
  static StatusRuntimeException failure(Status.Code code, CallError error) {
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder().setCode(code.value()).addDetails(Any.pack(error)).build());
  }

  static NodeList names(String... names) {
    return NodeList.newBuilder().setNames(NodeNames.newBuilder().addAllNames(List.of(names))).build();
  }

  static NodeList indices(long epoch, Integer... indices) {
    var list = NodeIndices.newBuilder().setNodeEpoch(epoch).addAllIndices(List.of(indices));
    return NodeList.newBuilder().setIndices(list).build();
  }

  /** An answer of ListNodes with every node. */
  static ListNodesResponse all(long epoch, String... nodes) {
    return ListNodesResponse.newBuilder()
        .setProvenance(Provenance.newBuilder().setNodeEpoch(epoch))
        .setComplete(true)
        .addAllIndices(IntStream.range(0, nodes.length).boxed().toList())
        .setNodes(names(nodes))
        .build();
  }
}

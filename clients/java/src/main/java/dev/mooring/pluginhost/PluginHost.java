package dev.mooring.pluginhost;

import com.google.protobuf.ByteString;
import dev.mooring.plugin_host.v1.ActRequest;
import dev.mooring.plugin_host.v1.ActResponse;
import dev.mooring.plugin_host.v1.ConfigureRequest;
import dev.mooring.plugin_host.v1.ConfigureResponse;
import dev.mooring.plugin_host.v1.DescribeRequest;
import dev.mooring.plugin_host.v1.DescribeResponse;
import dev.mooring.plugin_host.v1.EvaluateRequest;
import dev.mooring.plugin_host.v1.EvaluateResponse;
import dev.mooring.plugin_host.v1.MeasureRequest;
import dev.mooring.plugin_host.v1.MeasureResponse;
import dev.mooring.plugin_host.v1.Normalizer;
import dev.mooring.plugin_host.v1.PluginHostServiceGrpc;
import dev.mooring.v1.Verdict;
import dev.mooring.v1.VerdictCode;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** Serves plugins. Safe for concurrent use. */
public final class PluginHost extends PluginHostServiceGrpc.PluginHostServiceImplBase {
  private static final int OUT_OF_RANGE = 255;

  private record Instance(Plugin plugin, Rule rule) {}

  private final String id = UUID.randomUUID().toString();
  private final DescribeResponse described;
  private final Map<String, Plugin> plugins = new LinkedHashMap<>();
  private final List<Instance> instances = new CopyOnWriteArrayList<>();

  private PluginHost(String version, List<Plugin> plugins) {
    var description = DescribeResponse.newBuilder().setHostId(id).setHostVersion(version);
    for (var plugin : plugins) {
      var one = plugin.described();
      this.plugins.put(one.getName(), plugin);
      description.addPlugins(one);
    }
    described = description.build();
  }

  /**
   * Serves plugins on unix:PATH (on Linux), or on a loopback address, and returns the server that does. A socket that is there
   * is replaced; only its user may write to the new one.
   *
   * @throws IOException it can't listen there
   */
  public static Server serve(String address, String version, Plugin... plugins) throws IOException {
    var host = new PluginHost(version, List.of(plugins));
    if (!address.startsWith("unix:")) {
      var port = address.lastIndexOf(':');
      var socket = new InetSocketAddress(address.substring(0, port), Integer.parseInt(address.substring(port + 1)));
      return NettyServerBuilder.forAddress(socket).addService(host).build().start();
    }
    var path = Path.of(address.replaceFirst("^unix:(//)?", ""));
    Files.deleteIfExists(path);
    var threads = new EpollEventLoopGroup(1);
    var server =
        NettyServerBuilder.forAddress(new DomainSocketAddress(path.toFile()))
            .channelType(EpollServerDomainSocketChannel.class)
            .bossEventLoopGroup(threads)
            .workerEventLoopGroup(threads)
            .addService(host)
            .build()
            .start();
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
    return server;
  }

  @Override
  public void describe(DescribeRequest request, StreamObserver<DescribeResponse> answers) {
    answer(answers, () -> described);
  }

  @Override
  public void configure(ConfigureRequest request, StreamObserver<ConfigureResponse> answers) {
    answer(answers, () -> configured(request));
  }

  @Override
  public void evaluate(EvaluateRequest request, StreamObserver<EvaluateResponse> answers) {
    answer(answers, () -> evaluated(instance(request.getHostId(), request.getInstance()), request));
  }

  @Override
  public void measure(MeasureRequest request, StreamObserver<MeasureResponse> answers) {
    answer(
        answers,
        () -> {
          var rule = instance(request.getHostId(), request.getInstance()).rule();
          return MeasureResponse.newBuilder().putAllValues(rule.measure.apply(request.getName())).build();
        });
  }

  @Override
  public void act(ActRequest request, StreamObserver<ActResponse> answers) {
    answer(answers, () -> said(instance(request.getHostId(), request.getInstance()).rule().act(request)));
  }

  private interface Answered<A> {
    A answer();
  }

  private static <A> void answer(StreamObserver<A> answers, Answered<A> call) {
    A answer;
    try {
      answer = call.answer();
    } catch (RuntimeException error) {
      var status = Status.fromThrowable(error);
      answers.onError(status.getDescription() == null ? status.withDescription(error.toString()).asException() : error);
      return;
    }
    answers.onNext(answer);
    answers.onCompleted();
  }

  private ConfigureResponse configured(ConfigureRequest request) {
    var plugin = plugins.get(request.getPlugin());
    if (!request.getHostId().equals(id) || plugin == null) {
      throw anotherStart();
    }
    var answer = ConfigureResponse.newBuilder();
    try {
      var made = new Instance(plugin, plugin.rule(request.getArgsJson()));
      synchronized (instances) {
        instances.add(made);
        answer.setInstance(instances.size());
      }
    } catch (ArgumentException error) {
      answer.addFaultsBuilder().setField(error.field()).setMessage(error.getMessage());
    }
    return answer.build();
  }

  private EvaluateResponse evaluated(Instance found, EvaluateRequest request) {
    var declared = found.plugin().described();
    var rule = found.rule();
    var pod = Values.ofPod(declared.getPodFieldsList(), request.getPodList());
    var count = request.getCombinations();
    var verdicts = new byte[count];
    var scores = new long[count];
    var numbers = new HashMap<Rejection, Integer>();
    var answer = EvaluateResponse.newBuilder().setHostId(id).setQuestion(request.getQuestion());
    Function<Rejection, Integer> number =
        no -> {
          answer.addRejections(no.verdict());
          return numbers.size() + 1;
        };
    for (var at = 0; at < count; at++) {
      var node = Values.ofNode(declared.getNodeColumnsList(), request.getColumnsList(), at);
      var no = rule.filter == null ? null : rule.filter.filter(pod, node);
      if (no != null) {
        verdicts[at] = numbers.computeIfAbsent(no, number).byteValue();
      } else if (rule.score != null) {
        scores[at] = rule.score.score(pod, node);
      }
    }
    answer.setVerdicts(ByteString.copyFrom(verdicts));
    if (rule.score == null) {
      return answer.build();
    }
    var bytes = new byte[count];
    for (var at = 0; at < count; at++) {
      if (declared.getNormalizer() != Normalizer.NORMALIZER_UNSPECIFIED) {
        answer.addRawScores(scores[at]);
      }
      // 255 is rejected, as any other score that is out of range should be.
      bytes[at] = (byte) (scores[at] >= 0 && scores[at] < OUT_OF_RANGE ? scores[at] : OUT_OF_RANGE);
    }
    return answer.getRawScoresCount() > 0 ? answer.build() : answer.setScores(ByteString.copyFrom(bytes)).build();
  }

  private static ActResponse said(Permission permission) {
    var answer = ActResponse.newBuilder();
    if (permission.denied() != null) {
      return answer.setVerdict(permission.denied().verdict()).build();
    }
    if (permission.time() == null) {
      return answer.setVerdict(Verdict.newBuilder().setCode(VerdictCode.VERDICT_CODE_SUCCESS)).build();
    }
    answer.getWaitBuilder().setSeconds(permission.time().getSeconds()).setNanos(permission.time().getNano());
    return answer.setVerdict(Verdict.newBuilder().setCode(VerdictCode.VERDICT_CODE_WAIT)).build();
  }

  private Instance instance(String hostId, int number) {
    if (!hostId.equals(id) || number < 1 || number > instances.size()) {
      throw anotherStart();
    }
    return instances.get(number - 1);
  }

  private static RuntimeException anotherStart() {
    return Status.FAILED_PRECONDITION.withDescription("another start of the host is meant").asRuntimeException();
  }
}

package dev.mooring.client;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.mooring.v1.CommitMode;
import dev.mooring.v1.ErrorReason;
import dev.mooring.v1.GetCapabilitiesRequest;
import dev.mooring.v1.PluginServiceGrpc;
import dev.mooring.v1.PodReference;
import dev.mooring.v1.Session;
import dev.mooring.v1.SessionChange;
import dev.mooring.v1.UnreservedPod;
import dev.mooring.v1.Verdict;
import dev.mooring.v1.WatchDecisionsRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.StreamSupport;

/**
 * Plays the contract suite with this client: commands from standard input, results to standard output, as
 * clients/contract/README.md says.
 */
final class Driver {
  private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

  private final MooringClient whole;
  private MooringClient client;
  private JsonObject asked;

  private Driver(MooringClient whole) {
    this.whole = whole;
  }

  public static void main(String[] arguments) throws IOException {
    var flags = new HashMap<String, String>();
    for (var i = 0; i < arguments.length - 1; i += 2) {
      flags.put(arguments[i], arguments[i + 1]);
    }
    var builder = MooringClient.builder(arguments[arguments.length - 1]);
    if (flags.containsKey("--max-message-bytes")) {
      builder.maxAnswerBytes(Integer.parseInt(flags.get("--max-message-bytes")));
    }
    if (flags.containsKey("--cert")) {
      builder.tls(Path.of(flags.get("--ca")), Path.of(flags.get("--cert")), Path.of(flags.get("--key")));
    } else if (flags.containsKey("--ca")) {
      builder.tls(Path.of(flags.get("--ca")));
    }
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try (var client = builder.build()) {
      var driver = new Driver(client);
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        output.println(GSON.toJson(driver.play(JsonParser.parseString(line).getAsJsonObject())));
      }
    }
  }

  private Map<String, Object> play(JsonObject command) {
    asked = command;
    client = whole.within(Duration.ofNanos((long) (command.get("timeout").getAsDouble() * 1e9)));
    try {
      return Map.of("result", result());
    } catch (MooringException failed) {
      return Map.of(
          "error",
          Map.of(
              "code", failed.code().name(),
              "reason", reasonOf(failed),
              "message", failed.getMessage(),
              "metadata", failed.metadata(),
              "fields",
                  failed.violations().stream()
                      .map(each -> Map.of("field", each.getField(), "description", each.getDescription()))
                      .toList(),
              "repeat", failed.repeatable()));
    }
  }

  private Object result() {
    return switch (text("call")) {
      case "schedule" -> schedule();
      case "reserve" -> {
        var reserved = client.reserve(pod(), text("node"), text("profile"));
        yield Map.of(
            "verdict", verdict(reserved.getVerdict()), "outcome", bare(reserved.getOutcome(), "COMMIT_OUTCOME_"));
      }
      case "unreserve" -> {
        var uids = new ArrayList<String>();
        asked.getAsJsonArray("pods").forEach(each -> uids.add(reference(each).getUid()));
        var released = client.unreserve(uids).stream().filter(UnreservedPod::getReleased);
        yield Map.of("released", released.map(UnreservedPod::getUid).toList());
      }
      case "list_reservations" ->
          client.listReservations().stream()
              .map(
                  each -> {
                    var reservation = new HashMap<String, Object>(reference(each.getPod()));
                    reservation.put("node", each.getNode());
                    return reservation;
                  })
              .toList();
      case "watch_nodes" -> watchNodes();
      case "watch_decisions" -> watchDecisions();
      case "filter" -> filter();
      case "score" -> score();
      case "explain" -> explain();
      case "bind" ->
          Map.of("outcome", bare(client.bind(reference(asked.get("pod")), text("node"), text("profile")), "COMMIT_OUTCOME_"));
      case "list_nodes" -> {
        var listed = client.listNodes(text("labels"));
        yield Map.of("epoch", listed.epoch(), "nodes", listed.names());
      }
      case "open_session" -> Map.of("session", client.openSession(text("from")).id());
      case "change_session" -> counts(session().change(changes()));
      case "mark_session" -> Map.of("mark", session().mark());
      case "revert_session" -> counts(session().revert(number("mark")));
      case "commit_session" -> counts(session().commit(number("mark")));
      case "close_session" -> {
        session().close();
        yield Map.of();
      }
      case "capabilities" -> capabilities();
      default -> throw new IllegalArgumentException(text("call"));
    };
  }

  private Object schedule() {
    var groups = new ArrayList<Pods>();
    for (var each : asked.getAsJsonArray("pods")) {
      var group = each.getAsJsonObject();
      groups.add(new Pods(Pod.json(group.get("template").toString()), texts(group, "uids"), texts(group, "names")));
    }
    var mode = text("mode").isEmpty() ? "DRY_RUN" : text("mode");
    var batch =
        new Batch(
            groups,
            CommitMode.valueOf("COMMIT_MODE_" + mode),
            among(),
            text("session"),
            text("profile"),
            asked.has("seed") ? asked.get("seed").getAsLong() : 0);
    return client.schedule(batch).placements().stream()
        .map(
            each ->
                Map.of(
                    "uid", each.uid(),
                    "node", each.node(),
                    "total", each.total(),
                    "verdict", verdict(each.verdict()),
                    "outcome", bare(each.outcome(), "COMMIT_OUTCOME_")))
        .toList();
  }

  private Object watchNodes() {
    var updates = new ArrayList<Object>();
    try (var watch = client.watchNodes()) {
      while (updates.size() < number("updates")) {
        var update = watch.next();
        updates.add(
            Map.of(
                "epoch", update.epoch(), "complete", update.complete(), "added", List.copyOf(update.added()),
                "removed", update.removed()));
      }
    }
    return updates;
  }

  private Object watchDecisions() {
    var request = WatchDecisionsRequest.newBuilder();
    if (asked.has("after")) {
      request.setAfterSeq(asked.get("after").getAsLong());
    }
    var decisions = new ArrayList<Object>();
    try (var watch = client.watchDecisions(request.build())) {
      while (decisions.size() < number("updates")) {
        for (var each : watch.next().getDecisionsList()) {
          decisions.add(Map.of("seq", each.getSeq(), "pod", reference(each.getPod()), "node", each.getNode()));
        }
      }
    }
    return decisions;
  }

  private Object filter() {
    var filtered = client.filter(question());
    var nodes = new HashMap<String, Object>();
    filtered.nodes().forEach(each -> nodes.put(each.node(), verdict(each.verdict())));
    return Map.of("verdict", verdict(filtered.verdict()), "nodes", nodes);
  }

  private Object score() {
    var scored = client.score(question());
    return Map.of("weight_sum", scored.weightSum(), "nodes", scored.totals());
  }

  private Object explain() {
    var explained = client.explain(question());
    var nodes = new HashMap<String, Object>();
    for (var each : explained.nodes()) {
      var node = new HashMap<String, Object>();
      node.put("verdict", verdict(each.verdict()));
      node.put("total", each.total().isPresent() ? each.total().getAsLong() : null);
      node.put("scores", each.scores());
      nodes.put(each.node(), node);
    }
    return Map.of("verdict", verdict(explained.verdict()), "node", explained.node(), "nodes", nodes);
  }

  private Object capabilities() {
    var capabilities =
        client.call(PluginServiceGrpc.getGetCapabilitiesMethod(), GetCapabilitiesRequest.getDefaultInstance());
    return Map.of(
        "contract_revision", capabilities.getContractRevision(),
        "contract_classes",
            capabilities.getContractClassesList().stream().map(each -> bare(each, "CONTRACT_CLASS_")).toList(),
        "commit_modes", capabilities.getCommitModesList().stream().map(each -> bare(each, "COMMIT_MODE_")).toList());
  }

  private SessionChange[] changes() {
    var changes = new ArrayList<SessionChange>();
    if (asked.has("put")) {
      var manifests = StreamSupport.stream(asked.getAsJsonArray("put").spliterator(), false);
      changes.add(OpenSession.put(manifests.map(JsonElement::toString).toArray(String[]::new)));
    }
    if (asked.has("remove")) {
      for (var each : asked.getAsJsonArray("remove")) {
        var object = each.getAsJsonObject();
        changes.add(OpenSession.remove(text(object, "kind"), text(object, "namespace"), text(object, "name")));
      }
    }
    return changes.toArray(SessionChange[]::new);
  }

  private static Object counts(Session session) {
    return Map.of(
        "change_count", session.getChangeCount(), "node_count", session.getNodeCount(), "pod_count", session.getPodCount());
  }

  private static Object verdict(Verdict verdict) {
    return Map.of(
        "code", bare(verdict.getCode(), "VERDICT_CODE_"),
        "plugin", verdict.getPlugin(),
        "reasons", List.copyOf(verdict.getReasonsList()),
        "message", verdict.getMessage());
  }

  /** The name of an enum's value without its prefix, "" for the zero value. */
  private static String bare(Enum<?> value, String prefix) {
    var name = value.name().replaceFirst("^" + prefix, "");
    return name.equals("UNSPECIFIED") ? "" : name;
  }

  /** A reason's name, or its number if this client is older than the server. */
  private static String reasonOf(MooringException failed) {
    return failed.reason() == ErrorReason.UNRECOGNIZED
        ? Integer.toString(failed.reasonNumber())
        : bare(failed.reason(), "ERROR_REASON_");
  }

  private OpenSession session() {
    return client.session(text("session"));
  }

  private Question question() {
    return new Question(pod(), among(), text("session"), text("profile"), asked.has("parts"));
  }

  private Optional<List<String>> among() {
    return asked.has("among") ? Optional.of(texts(asked, "among")) : Optional.empty();
  }

  /** A whole pod if it has metadata, else a reference. */
  private Pod pod() {
    var pod = asked.getAsJsonObject("pod");
    if (pod.has("metadata")) {
      return Pod.json(pod.toString());
    }
    return Pod.known(text(pod, "namespace"), text(pod, "name"), text(pod, "uid"));
  }

  private static PodReference reference(JsonElement pod) {
    var object = pod.getAsJsonObject();
    return Pod.reference(text(object, "namespace"), text(object, "name"), text(object, "uid"));
  }

  private static Map<String, String> reference(PodReference pod) {
    return Map.of("namespace", pod.getNamespace(), "name", pod.getName(), "uid", pod.getUid());
  }

  private int number(String key) {
    return asked.get(key).getAsInt();
  }

  private String text(String key) {
    return text(asked, key);
  }

  private static String text(JsonObject object, String key) {
    return object.has(key) ? object.get(key).getAsString() : "";
  }

  private static List<String> texts(JsonObject object, String key) {
    var texts = new ArrayList<String>();
    if (object.has(key)) {
      object.getAsJsonArray(key).forEach(each -> texts.add(each.getAsString()));
    }
    return texts;
  }
}

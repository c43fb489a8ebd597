import dev.mooring.client.Batch;
import dev.mooring.client.MooringClient;
import dev.mooring.client.Pod;
import dev.mooring.client.Pods;
import java.util.List;

public class First {
  public static void main(String[] arguments) {
    var pod = Pod.json("""
        {"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "web"}]}}""");
    try (var client = MooringClient.of(arguments[0])) {
      for (var placement : client.schedule(Batch.of(Pods.of(pod, List.of("web-1", "web-2")))).placements()) {
        System.out.println(placement.uid() + " " + placement.node() + " " + placement.verdict().getMessage());
      }
    }
  }
}

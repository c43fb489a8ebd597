import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mooring.pluginhost.Values;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MainTest {
  private static Values node(String rack, String maintenance) {
    var values = new HashMap<String, String>();
    values.put(Main.RACK, rack);
    values.put(Main.MAINTENANCE, maintenance);
    return Values.of(values);
  }

  @Test
  void theRackThatThePodAsksForIsPreferred() {
    var pod = Values.of(Map.of(Main.WANTED, "r1"));
    assertEquals(100, Main.score(pod, node("r1", null)));
    assertEquals(0, Main.score(pod, node("r2", null)));
  }

  @Test
  void aNodeInMaintenanceIsRejected() {
    assertTrue(Main.filter(null, node("r1", "")).unresolvable());
  }
}

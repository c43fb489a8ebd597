import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import dev.mooring.pluginhost.Values;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ${name}Test {
  @Test
  void aPodGoesToTheTierThatItAsksFor() {
    var pod = Values.of(Map.of($name.WANTED, "gold"));
    assertNull($name.filter(pod, Values.of(Map.of($name.TIER, "gold"))));
    assertTrue($name.filter(pod, Values.of(Map.of($name.TIER, "iron"))).unresolvable());
  }
}

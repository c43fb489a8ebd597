import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import dev.mooring.pluginhost.Values;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ${name}Test {
  @Test
  void aRackWithEnoughPodsIsRejected() {
    var pod = Values.of(Map.of($name.APP, "web"));
    assertNull($name.filter(pod, Values.of(Map.of($name.IN_RACK, $name.MOST - 1))));
    assertNotNull($name.filter(pod, Values.of(Map.of($name.IN_RACK, $name.MOST))));
  }
}

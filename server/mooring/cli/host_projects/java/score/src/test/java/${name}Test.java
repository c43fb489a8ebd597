import static org.junit.jupiter.api.Assertions.assertEquals;
import dev.mooring.pluginhost.Values;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ${name}Test {
  @Test
  void theEmptierNodeHasMorePoints() {
    Map.of(0L, 100L, 2L, 75L, 9L, 0L)
        .forEach(
            (used, expected) -> {
              var node = Values.of(Map.of($name.OFFERED, 8L, $name.REQUESTED, used));
              assertEquals(expected, $name.score(node, node));
            });
  }
}

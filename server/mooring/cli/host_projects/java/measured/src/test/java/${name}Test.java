import static org.junit.jupiter.api.Assertions.assertEquals;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ${name}Test {
  @Test
  void eachLineIsTheLoadOfANode() {
    assertEquals(Map.of("n1", 4000L, "n2", 1000L), $name.parsed("n1 4000\nn2 1000\n"));
  }
}

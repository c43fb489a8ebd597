import { expect, test } from "vitest";

import { fitted } from "../src/matrix/widths";

test.each([
  ["nothing is cut", 500, [100, 100, 300], [90, 80, 200], [undefined, undefined, undefined]],
  ["a cut one gets what the flexible one has left", 500, [100, 100, 300], [150, 80, 200], [150, undefined, undefined]],
  ["the flexible one gets what others don't need", 500, [200, 100, 200], [80, 100, 300], [100, undefined, undefined]],
  ["there is not enough for all", 400, [100, 100, 200], [150, 60, 300], [undefined, 60, undefined]],
  ["a column that was not measured keeps its width", 300, [100, 100, 100], [0, 150, 250], [undefined, undefined, undefined]],
])("%s", (_, available, declared, wanted, widths) => {
  expect(fitted(available, declared, wanted, [false, false, true])).toEqual(widths);
});

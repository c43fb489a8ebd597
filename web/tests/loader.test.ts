import { nothing } from "lit";
import { expect, test } from "vitest";

import { GatewayError } from "../src/page/gateway";
import { failed } from "../src/page/loader";

test.each([
  ["DECISION_NOT_REPEATABLE", false],
  ["NOT_SYNCED", true],
])("%s can be tried again: %s", (reason, again) => {
  const { values } = failed(new GatewayError("no", "FAILED_PRECONDITION", reason), () => {});
  expect(values.at(-1) !== nothing).toBe(again);
});

/** Weights as a piece of a KubeSchedulerConfiguration. */

import type { Matrix } from "./matrix";

/** Returns the profile with the weights that differ from those in force. Weight 0 disables a plugin: the API's 0 is "default". */
export function weightsYaml(matrix: Matrix, weights: readonly number[]): string {
  const changed = matrix.plugins.flatMap(({ name, weight }, index) =>
    weights[index] === weight ? [] : [{ name, weight: weights[index]! }],
  );
  const off = changed.filter(({ weight }) => !weight);
  const on = changed.filter(({ weight }) => weight);
  return [
    "apiVersion: kubescheduler.config.k8s.io/v1",
    "kind: KubeSchedulerConfiguration",
    "profiles:",
    `- schedulerName: ${JSON.stringify(matrix.provenance.profile ?? "default-scheduler")}`,
    "  plugins:",
    `    score:${changed.length ? "" : " {}"}`,
    ...(on.length ? ["      enabled:", ...on.flatMap(({ name, weight }) => [`      - name: ${name}`, `        weight: ${weight}`])] : []),
    ...(off.length ? ["      disabled:", ...off.map(({ name }) => `      - name: ${name}`)] : []),
    "",
  ].join("\n");
}

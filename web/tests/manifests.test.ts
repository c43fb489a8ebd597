import { describe, expect, test } from "vitest";

import { encoded, readPod, toYaml } from "../src/page/manifests";
import { parseRoute } from "../src/page/route";

const CONTAINERS = [{ name: "c" }];

describe("a pasted manifest", () => {
  test("of a pod is that pod", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers: CONTAINERS } };
    expect(await readPod(JSON.stringify(pod))).toEqual(pod);
    expect(await readPod(await toYaml(pod))).toEqual(pod);
  });

  test.each([
    ["Deployment", { template: { metadata: { labels: { a: "b" } }, spec: { containers: CONTAINERS } } }],
    ["CronJob", { jobTemplate: { spec: { template: { metadata: { labels: { a: "b" } }, spec: { containers: CONTAINERS } } } } }],
  ])("of a %s is a pod that it makes", async (kind, spec) => {
    const pod = await readPod(JSON.stringify({ kind, metadata: { name: "w", namespace: "prod" }, spec }));
    expect(pod).toMatchObject({ kind: "Pod", metadata: { name: "w-what-if", namespace: "prod", labels: { a: "b" } } });
    expect(pod.spec).toEqual({ containers: CONTAINERS });
  });

  test.each([
    ["kind: Service", /not Service/],
    ["- a list", /not this/],
    ["5", /A manifest is expected/],
    ["a: b: c", /mapping/],
  ])("%s is rejected", async (text, said) => {
    await expect(readPod(text)).rejects.toThrow(said);
  });

  test("is sent as UTF-8 in base64", () => {
    const { json } = encoded({ metadata: { name: "ä→" } });
    expect(new TextDecoder().decode(Uint8Array.from(atob(json!), (character) => character.charCodeAt(0)))).toBe('{"metadata":{"name":"ä→"}}');
  });
});

describe("a route", () => {
  test.each([
    ["", [], {}],
    ["#/", [], {}],
    ["#/pods/prod/a%2Fb", ["pods", "prod", "a/b"], {}],
    ["#/decisions?pod=x%20y&plugin=N", ["decisions"], { pod: "x y", plugin: "N" }],
    ["#/pods/%E0%A4%A", ["pods", "%E0%A4%A"], {}],
  ])("%s", (hash, path, query) => {
    const route = parseRoute(hash);
    expect([route.path, Object.fromEntries(route.query)]).toEqual([path, query]);
  });
});

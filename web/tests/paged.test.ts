import { afterEach, expect, test, vi } from "vitest";

import { PagedPods } from "../src/page/paged";

const PODS = 1_000;

interface Asked {
  skip: number;
  pageSize: number;
  pageToken?: string;
}

/** Answers as ListPods does; the token is forgotten where `stale` says so. */
function serve(stale = () => false): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", { baseURI: "http://here/" });
  vi.stubGlobal("fetch", async (_: string, { body }: { body: string }) => {
    const request = JSON.parse(body) as Asked;
    asked.push(request);
    if (request.pageToken && stale()) {
      const details = [{ type: "google.rpc.ErrorInfo", debug: { reason: "PAGE_TOKEN_STALE" } }];
      return { ok: false, status: 400, json: async () => ({ message: "forgotten", details }) };
    }
    const names = Array.from({ length: Math.min(request.pageSize, PODS - request.skip) }, (_, at) => `p${request.skip + at}`);
    const pods = names.map((name) => ({ pod: { namespace: "n", name } }));
    return { ok: true, json: async () => ({ pods, podCount: PODS, unplacedCount: 3, nextPageToken: "list.200" }) };
  });
  return asked;
}

afterEach(() => vi.unstubAllGlobals());

test("what is in sight is read once, from the list as it was found", async () => {
  const asked = serve();
  const pods = new PagedPods({ namePart: "p" }, new AbortController().signal);
  expect(await pods.read(0, 40)).toBe(true);
  expect(await pods.read(10, 60)).toBe(false);
  expect(await pods.read(590, 630)).toBe(true);
  expect(asked.map(({ skip, pageToken }) => [skip, pageToken])).toEqual([
    [0, ""],
    [400, "list.200"],
    [600, "list.200"],
  ]);
  expect([pods.rows.length, pods.unplaced]).toEqual([PODS, 3]);
  expect([199, 200, 399, 400, 799].map((at) => pods.rows[at]?.pod?.name)).toEqual(["p199", undefined, undefined, "p400", "p799"]);
});

test("a list that is forgotten is found again", async () => {
  const asked = serve(() => true);
  const pods = new PagedPods({}, new AbortController().signal);
  await pods.read(0, 1);
  await pods.read(900, 910);
  expect(pods.rows[905]?.pod?.name).toBe("p905");
  expect(asked.at(-1)?.pageToken).toBeUndefined();
});

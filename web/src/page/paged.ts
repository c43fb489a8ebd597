/** A list that is too long for one answer: the parts in sight are read, all from the list as it was found at first. */

import type { ListPodsRequestJson, ListPodsResponseJson, PodSummaryJson } from "../contract/mooring/v1/cluster_service_pb";
import { call, GatewayError } from "./gateway";

const PAGE = 200;

export class PagedPods {
  /** As many as the list has; undefined where they are not read yet. */
  rows: (PodSummaryJson | undefined)[] = [];
  unplaced = 0;
  private token = "";
  private readonly asked = new Set<number>();

  constructor(
    private readonly request: ListPodsRequestJson,
    private readonly signal: AbortSignal,
  ) {}

  /** Reads the pages with the rows from `first` up to, but not including, `end`; returns whether there are more rows now. */
  async read(first: number, end: number): Promise<boolean> {
    let found = false;
    for (let page = Math.floor(first / PAGE); page * PAGE < Math.max(end, 1); page++) found = (await this.page(page)) || found;
    return found;
  }

  private async page(page: number): Promise<boolean> {
    if (this.asked.has(page)) return false;
    this.asked.add(page);
    try {
      this.take(page, await this.ask(page));
      return true;
    } catch (error) {
      this.asked.delete(page);
      throw error;
    }
  }

  /** A list is kept for a minute; then the same part of a new one is read. */
  private async ask(page: number): Promise<ListPodsResponseJson> {
    const request = { ...this.request, pageSize: PAGE, skip: page * PAGE };
    try {
      return await call("ClusterService/ListPods", { ...request, pageToken: this.token }, this.signal);
    } catch (error) {
      if (!(error instanceof GatewayError && error.reason === "PAGE_TOKEN_STALE")) throw error;
      this.token = "";
      return call("ClusterService/ListPods", request, this.signal);
    }
  }

  private take(page: number, { pods = [], podCount = 0, unplacedCount = 0, nextPageToken = "" }: ListPodsResponseJson): void {
    this.token ||= nextPageToken;
    this.unplaced = unplacedCount;
    const rows = this.rows.slice();
    rows.length = podCount;
    pods.forEach((pod, at) => (rows[page * PAGE + at] = pod));
    this.rows = rows;
  }
}

import { css, html, LitElement, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { ListQueueResponseJson, QueuedPodJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import "../elements/grid";
import type { GridColumn } from "../elements/grid";
import { age, amount } from "../matrix/amounts";
import { eventWords } from "../matrix/events";
import { copiesOf } from "../page/copies";
import { call, offers } from "../page/gateway";
import { Loader } from "../page/loader";
import { refine } from "../page/route";
import { podName, word } from "../page/words";
import { shared } from "../styles";
import "./pod_list";
import { podLink } from "./pod_list";

const PREFIX = "QUEUE_PLACE_";

/** What each place means, in the order in which a pod goes through them. */
const PLACES: Record<string, string> = {
  in_flight: "being tried right now",
  active: "tried when their turn comes",
  backoff: "held back for a while after a failure",
  unschedulable: "wait for a change that may help",
  gated: "not let in by a PreEnqueue plugin",
};

/** The scheduler's queue: who waits where, and what would wake each. */
@customElement("mooring-queue")
export class Queue extends LitElement {
  @property({ attribute: false }) query = new URLSearchParams();
  /** null = the process has no queue. */
  private readonly queue = new Loader<ListQueueResponseJson | null>(this, listQueue, { every: 2_000 });

  static override styles = [
    shared,
    css`
      .places {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
        gap: var(--s3);
      }
      .place {
        display: grid;
        text-align: start;
        white-space: normal;
        padding: var(--s3) var(--s4);
        align-content: start;
        border-radius: calc(2 * var(--radius));
      }
      .place[aria-pressed="true"] {
        background: var(--tint);
        color: inherit;
        border-color: var(--accent);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
      }
      mooring-grid {
        --grid-height: calc(100vh - 20rem);
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <div class="row between">
        <h1>Queue</h1>
        <mooring-copy
          .copies=${this.queue.value === null ? copiesOf("mooring why-pending", "ClusterService/ListPods", { placed: false }) : copiesOf("", "DecisionService/ListQueue", {})}
        ></mooring-copy>
      </div>
      ${this.queue.show((found) => (found ? this.places(found) : noQueue()))}
    </div>`;
  }

  private places({ pods = [], counts = [] }: ListQueueResponseJson): TemplateResult {
    const chosen = this.query.get("place") ?? "";
    const countOf = (place: string) => counts.find((one) => one.place === PREFIX + place.toUpperCase())?.podCount ?? 0;
    const shown = chosen ? pods.filter(({ place }) => place === PREFIX + chosen.toUpperCase()) : pods;
    return html`<div class="places" role="group" aria-label="Places">
        ${Object.entries(PLACES).map(
          ([place, meaning]) =>
            html`<button class="place" aria-pressed=${chosen === place} @click=${() => refine({ place: chosen === place ? "" : place })}>
              <span>${word(place, "")}</span><span class="count">${amount(countOf(place))}</span><span class="quiet">${meaning}</span>
            </button>`,
        )}
      </div>
      <mooring-grid
        label="Pods in the queue, in the order in which they are tried or have waited"
        .columns=${COLUMNS}
        .rows=${shown}
        .keyOf=${(queued: QueuedPodJson) => podName(queued.pod)}
        empty="No pod waits here."
        @mooring-open=${(event: CustomEvent<QueuedPodJson>) => (location.hash = podLink(event.detail.pod))}
      ></mooring-grid>`;
  }
}

/** Only a scheduler has a queue. */
async function listQueue(signal: AbortSignal): Promise<ListQueueResponseJson | null> {
  return (await offers("DecisionService/ListQueue")) ? call("DecisionService/ListQueue", {}, signal) : null;
}

function noQueue(): TemplateResult {
  return html`<p class="card">
      This process answers questions and has no queue: only a scheduler has one, such as
      <span class="mono">mooring scheduler</span>. These are the pods without a node:
    </p>
    <mooring-pod-list .request=${{ placed: false }} label="Pods without a node" empty="No pod waits for a node."></mooring-pod-list>`;
}

/** Returns what would wake a pod: "a node is added; a pod on a node goes". */
export function wakes(queued: QueuedPodJson): string {
  return eventWords([...new Set((queued.wakes ?? []).flatMap(({ events = [] }) => events))]);
}

/** Returns the same as the scheduler names it: "NodeResourcesFit on Node/Add, AssignedPod/Delete". */
export function wakingEvents(queued: QueuedPodJson): string {
  return (queued.wakes ?? []).map(({ plugin, events = [] }) => `${plugin} on ${events.join(", ")}`).join("; ");
}

const COLUMNS: GridColumn<QueuedPodJson>[] = [
  {
    id: "pod",
    title: "Pod",
    width: "min(11rem, 42vw)",
    cell: ({ pod }) => html`<a tabindex="-1" href=${podLink(pod)} title=${podName(pod)}>${podName(pod)}</a>`,
  },
  { id: "place", title: "Place", width: "8rem", cell: ({ place }) => word(place, PREFIX) },
  { id: "waits", title: "There for", width: "6rem", numeric: true, cell: ({ placeTime }) => age(placeTime) },
  { id: "age", title: "In queue", width: "6rem", numeric: true, cell: ({ addedTime }) => age(addedTime) },
  { id: "priority", title: "Priority", width: "6rem", numeric: true, cell: ({ priority = 0 }) => amount(priority) },
  { id: "attempts", title: "Attempts", width: "6rem", numeric: true, cell: ({ attempts = 0 }) => amount(attempts) },
  {
    id: "wakes",
    title: "Would wake it",
    width: "minmax(18rem, 1fr)",
    cell: (queued) => html`<span title=${wakingEvents(queued)}>${wakes(queued) || html`<span class="quiet">its turn</span>`}</span>`,
  },
];

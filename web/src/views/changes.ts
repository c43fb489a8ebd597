import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { PodSourceJson } from "../contract/mooring/v1/objects_pb";
import type { ChangeOptionJson, SuggestChangesResponseJson } from "../contract/mooring/v1/simulation_service_pb";
import { counted } from "../matrix/amounts";
import { call, GatewayError } from "../page/gateway";
import { Loader } from "../page/loader";
import type { GroupName } from "../page/manifests";
import { link } from "../page/route";
import { podName } from "../page/words";
import { shared } from "../styles";

/** What would have to change for a pod to fit, or for its group, found by trying: asked for by a button, as it may take seconds. */
@customElement("mooring-changes")
export class Changes extends LitElement {
  @property({ attribute: false }) pod: PodSourceJson | undefined;
  /** The pod group that the pod is decided with, as a whole. */
  @property({ attribute: false }) group: GroupName | undefined;
  /** The session that is looked at; "" = the live state. */
  @property() session = "";
  /** Whether it was asked for already: another pod is asked about at once. */
  @property({ type: Boolean }) asked = false;

  private readonly found = new Loader<Found>(this, (signal) => this.ask(signal), {
    key: () => JSON.stringify([this.pod, this.group, this.session]),
    onRequest: true,
  });

  static override styles = [
    shared,
    css`
      ol {
        list-style: none;
      }
      ol > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
        overflow-wrap: anywhere;
      }
    `,
  ];

  protected override updated(changed: PropertyValues): void {
    if (changed.has("pod") && this.asked) void this.found.run();
  }

  protected override render(): TemplateResult {
    return html`<section class="card stack tight" aria-labelledby="changes">
      <div class="row between">
        <h2 id="changes">${this.group ? "What would make its group fit?" : "What would make it fit?"}</h2>
        <button ?disabled=${this.found.loading || !this.pod} @click=${() => void this.found.run()}>Find the fewest changes</button>
      </div>
      ${this.found.show(options)}
    </section>`;
  }

  private async ask(signal: AbortSignal): Promise<Found> {
    const { session, pod = {} } = this;
    return (await this.askGroup(signal)) ?? { response: await call("SimulationService/SuggestChanges", { session, pod }, signal) };
  }

  /** Returns what would make the group fit; undefined = the pod is decided by itself: it has none, or groups are switched off. */
  private async askGroup(signal: AbortSignal): Promise<Found | undefined> {
    const { session, group } = this;
    if (!group) return undefined;
    try {
      return { group, response: await call("SimulationService/SuggestChanges", { session, group }, signal) };
    } catch (error) {
      if (error instanceof GatewayError && error.reason === "GROUPS_OFF") return undefined;
      throw error;
    }
  }
}

interface Found {
  group?: GroupName;
  response: SuggestChangesResponseJson;
}

function options({ group, response }: Found): TemplateResult {
  const about = group ? html`<p class="quiet">Of pod group ${group.namespace}/${group.name}, with all its pods as the cluster has them:</p>` : nothing;
  return html`${about}${sets(response)}`;
}

function sets(response: SuggestChangesResponseJson): TemplateResult {
  const { verdict, options: found = [], complete = false } = response;
  if (verdict?.code === "VERDICT_CODE_SUCCESS") return html`<p class="good">✓ It fits as it is.</p>`;
  const room = preemption(response);
  if (!found.length) return html`${room}<p>No set of changes was found with which it fits.</p>`;
  const rest = complete ? nothing : html`<p class="quiet">The cluster is large: not everything was tried that might be less.</p>`;
  return html`${room}
    <ol>
      ${found.map(
        (option) =>
          html`<li>
            <p><strong>${option.text}</strong></p>
            <p class="quiet">${counted(option.steps?.length ?? 0, "change")}, then ${takers(option)}.</p>
          </li>`,
      )}
    </ol>
    ${rest}`;
}

/** Says which pods would be preempted, if the scheduler would make room so. */
function preemption({ preemptionNode = "", candidates = [] }: SuggestChangesResponseJson): TemplateResult {
  const room = candidates.find(({ node }) => node === preemptionNode);
  if (!room) return html``;
  const victims = (room.victims ?? []).map(({ reference }) => podName(reference));
  const budgets = room.violatedBudgets ?? [];
  return html`<p>
    It runs on ${preemptionNode} once ${victims.slice(0, 3).join(", ")}${victims.length > 3 ? ` and ${victims.length - 3} more` : ""}
    ${victims.length === 1 ? "is" : "are"} preempted.${budgets.length ? ` This violates ${budgets.join(", ")}.` : nothing}
  </p>`;
}

/** Returns which node takes the pod then, or how many pods of the group each node does. */
function takers({ node, landings = [] }: ChangeOptionJson): TemplateResult {
  const nodeLink = (name: string) => html`<a href=${link(["nodes", name])}>${name}</a>`;
  if (node) return html`${nodeLink(node)} takes it`;
  const counts = new Map<string, number>();
  for (const landing of landings) counts.set(landing.node ?? "", (counts.get(landing.node ?? "") ?? 0) + 1);
  const parts = [...counts].map(([name, count], at) => html`${at ? ", " : nothing}${counted(count, "pod")} on ${nodeLink(name)}`);
  return html`it has ${parts}`;
}

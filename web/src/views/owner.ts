import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { ReasonGroupJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { quoted } from "../page/words";
import { shared } from "../styles";
import "./pod_list";
import { groupStyles, reason } from "./reasons";

const EVERY = 10_000;

/** What controls pods, such as a ReplicaSet: why some of them wait, and where each is. */
@customElement("mooring-owner")
export class Owner extends LitElement {
  @property() namespace = "";
  @property() kind = "";
  @property() name = "";

  private readonly waiting = new Loader<ReasonGroupJson[]>(this, (signal) => this.groups(signal), {
    key: () => `${this.namespace}/${this.kind}/${this.name}`,
    every: EVERY,
  });

  static override styles = [
    shared,
    groupStyles,
    css`
      mooring-pod-list {
        --list-height: 60vh;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const request = { namespace: this.namespace, controllerKind: this.kind, controllerName: this.name };
    const found = this.waiting.value ?? [];
    return html`<div class="stack">
      <div class="row between">
        <h1>${this.kind} ${this.namespace}/${this.name}</h1>
        <mooring-copy
          .copies=${copiesOf(`mooring why-pending --namespace ${quoted(this.namespace)}`, "ClusterService/ListPods", request)}
        ></mooring-copy>
      </div>
      <section class="stack tight" aria-labelledby="waiting">
        <h2 id="waiting">Why some of its pods wait</h2>
        ${this.waiting.show(() =>
          found.length ? html`<ul class="groups">${found.map((group) => html`<li class="card stack tight">${reason(group)}</li>`)}</ul>` : nothing,
        )}
        ${this.waiting.value && !found.length ? html`<p class="card">✓ None of its pods waits for a node.</p>` : nothing}
      </section>
      <section class="stack tight" aria-labelledby="pods">
        <h2 id="pods">Its pods</h2>
        <mooring-pod-list .request=${request} label="Pods of ${this.kind} ${this.name}" empty="No pod of it is known."></mooring-pod-list>
      </section>
    </div>`;
  }

  private async groups(signal: AbortSignal): Promise<ReasonGroupJson[]> {
    const { groups = [] } = await call("DecisionService/SummarizeReasons", { namespace: this.namespace, askNow: true, advise: true, limit: 1_000 }, signal);
    return groups.filter(({ controllerKind, controllerName }) => controllerKind === this.kind && controllerName === this.name);
  }
}

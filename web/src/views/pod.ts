import { html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";
import { keyed } from "lit/directives/keyed.js";

import type { DecisionJson, QueuedPodJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import { type Advice, adviceLine } from "../elements/decision";
import { age, amount } from "../matrix/amounts";
import { adviceFor, LINKS } from "../page/advice";
import { copiesOf } from "../page/copies";
import { call, explainColumns, nodesWith, offers } from "../page/gateway";
import { Loader } from "../page/loader";
import { getManifest, groupOf, type Manifest } from "../page/manifests";
import { link } from "../page/route";
import { quoted, word } from "../page/words";
import { shared } from "../styles";
import "./blame";
import "./changes";
import { decisionGrid } from "./decisions";
import "./life";
import "./manifest";
import { ownerLink } from "./pod_list";
import { wakes, wakingEvents } from "./queue";

/** One pod: where it waits, what was decided about it, and where it would go now. */
@customElement("mooring-pod")
export class Pod extends LitElement {
  @property() namespace = "";
  @property() name = "";

  private readonly key = () => `${this.namespace}/${this.name}`;
  private readonly queued = new Loader<QueuedPodJson | undefined>(this, (signal) => this.findQueued(signal), {
    key: this.key,
    every: 5_000,
  });
  private readonly attempts = new Loader<DecisionJson[]>(this, (signal) => this.listAttempts(signal), {
    key: this.key,
    every: 5_000,
  });
  private readonly manifest = new Loader(this, (signal) => getManifest("Pod", this.namespace, this.name, signal), { key: this.key });
  private readonly advice = new Loader<Advice | undefined>(this, (signal) => adviceFor(this.question().pod, "", signal), { key: this.key });
  private readonly now = new Loader<ArrayBuffer>(this, (signal) => explainColumns(this.question(), signal), { key: this.key });

  static override styles = [shared];

  protected override render(): TemplateResult {
    const pod = quoted(this.key());
    const request = this.question();
    return html`<div class="stack">
      <div class="row between">
        <h1>${this.key()}</h1>
        <mooring-copy
          .copies=${[
            ...copiesOf(`mooring explain ${pod}`, "SchedulingService/Explain", request),
            { name: "kubectl", text: `kubectl get pod ${quoted(this.name)} -n ${quoted(this.namespace)} -o yaml` },
          ]}
        ></mooring-copy>
      </div>
      ${this.advised()} ${this.owned(this.manifest.value)} ${this.queued.value ? this.place(this.queued.value) : nothing}
      <mooring-life .namespace=${this.namespace} .name=${this.name}></mooring-life>
      <section class="stack tight" aria-labelledby="now">
        <div class="row between">
          <h2 id="now">Where it would go now</h2>
          <span class="row">
            <button @click=${() => void this.now.run()}>Explain again</button>
            <a href=${link(["what-if"], { pod: this.key() })}>What if …</a>
          </span>
        </div>
        ${this.now.show((columns) => html`<mooring-decision .columns=${columns} .nodesWith=${nodesWith} .links=${LINKS}></mooring-decision>`)}
      </section>
      ${this.now.value && this.manifest.value ? this.changes(this.manifest.value) : nothing}
      <section class="stack tight" aria-labelledby="attempts">
        <h2 id="attempts">Decisions about it</h2>
        ${this.attempts.show((attempts) => decisionGrid("Decisions about this pod, the newest first", attempts))}
      </section>
      <mooring-manifest .namespace=${this.namespace} .name=${this.name}></mooring-manifest>
    </div>`;
  }

  private owned(manifest: Manifest | undefined): unknown {
    const controller = manifest?.metadata?.ownerReferences?.find((one) => one.controller);
    const node = manifest?.spec?.nodeName as string | undefined;
    if (!controller && !node) return nothing;
    return html`<dl class="facts">
      ${controller
        ? html`<div><dt>Owner</dt><dd><a href=${ownerLink(this.namespace, controller.kind ?? "", controller.name)}>${controller.kind} ${controller.name}</a></dd></div>`
        : nothing}
      ${node ? html`<div><dt>Node</dt><dd><a href=${link(["nodes", node])}>${node}</a></dd></div>` : nothing}
    </dl>`;
  }

  /** What would help a pod without a node, unless room is being made for it already. */
  private advised(): unknown {
    const { nominatedNode } = this.attempts.value?.[0] ?? {};
    if (this.manifest.value?.spec?.nodeName) return nothing;
    if (nominatedNode) return html`<p>→ Room is being made on <a href=${link(["nodes", nominatedNode])}>${nominatedNode}</a>: its victims have to end.</p>`;
    return this.advice.value ? adviceLine(this.advice.value) : nothing;
  }

  private changes(manifest: Manifest): unknown {
    const { pod } = this.question();
    return keyed(
      this.key(),
      html`<div class="columns">
        <mooring-changes .pod=${pod} .group=${groupOf(manifest)}></mooring-changes>
        <mooring-blame .pod=${pod}></mooring-blame>
      </div>`,
    );
  }

  private place(queued: QueuedPodJson): TemplateResult {
    const ready = queued.readyTime ? html`<div><dt>Ready</dt><dd>${new Date(queued.readyTime).toLocaleTimeString("en-GB")}</dd></div>` : nothing;
    return html`<dl class="facts card">
      <div><dt>Waits in</dt><dd>${word(queued.place, "QUEUE_PLACE_")} for ${age(queued.placeTime)}</dd></div>
      <div><dt>Priority</dt><dd>${amount(queued.priority ?? 0)}</dd></div>
      <div><dt>Attempts</dt><dd>${amount(queued.attempts ?? 0)}</dd></div>
      ${ready}
      <div><dt>Would wake it</dt><dd title=${wakingEvents(queued)}>${wakes(queued) || "its turn"}</dd></div>
    </dl>`;
  }

  private question(): { pod: { reference: { namespace: string; name: string } }; allRejections: boolean } {
    return { pod: { reference: { namespace: this.namespace, name: this.name } }, allRejections: true };
  }

  /** Only a scheduler has a queue; other processes have nothing to say here. */
  private async findQueued(signal: AbortSignal): Promise<QueuedPodJson | undefined> {
    if (!(await offers("DecisionService/ListQueue"))) return undefined;
    const { pods = [] } = await call("DecisionService/ListQueue", { namespace: this.namespace, limit: 10_000 }, signal);
    return pods.find(({ pod }) => pod?.name === this.name);
  }

  private async listAttempts(signal: AbortSignal): Promise<DecisionJson[]> {
    const filter = { namespace: this.namespace, pod: this.name };
    return ((await call("DecisionService/ListDecisions", { filter, limit: 100 }, signal)).decisions ?? []).reverse();
  }
}

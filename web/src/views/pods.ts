import { css, html, LitElement, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { ListPodsRequestJson } from "../contract/mooring/v1/cluster_service_pb";
import "../elements/copy";
import { isSelector } from "../matrix/rows";
import { copiesOf } from "../page/copies";
import { refine } from "../page/route";
import { shared } from "../styles";
import "./pod_list";

const SHOWN: Record<string, { title: string; placed?: boolean }> = {
  "": { title: "All" },
  pending: { title: "Pending", placed: false },
  placed: { title: "Placed", placed: true },
};

/** All pods. */
@customElement("mooring-pods")
export class Pods extends LitElement {
  @property({ attribute: false }) query = new URLSearchParams();

  static override styles = [
    shared,
    css`
      input {
        width: min(22rem, calc(100vw - 2 * var(--s4)));
      }
    `,
  ];

  protected override render(): TemplateResult {
    const only = this.query.get("show") ?? "";
    const request = this.request(only);
    return html`<div class="stack tight">
      <div class="row between">
        <h1>Pods</h1>
        <div class="row">
          <span class="segments" role="group" aria-label="Which pods">
            ${Object.entries(SHOWN).map(
              ([show, { title }]) => html`<button aria-pressed=${only === show} @click=${() => refine({ show })}>${title}</button>`,
            )}
          </span>
          <input
            type="search"
            aria-label="Filter by namespace, name or labels"
            placeholder="Filter by namespace/name, or app=web"
            .value=${this.query.get("name") ?? ""}
            @input=${(event: InputEvent) => refine({ name: (event.target as HTMLInputElement).value })}
          />
          <mooring-copy .copies=${copiesOf("", "ClusterService/ListPods", request)}></mooring-copy>
        </div>
      </div>
      <mooring-pod-list .request=${request}></mooring-pod-list>
    </div>`;
  }

  private request(only: string): ListPodsRequestJson {
    const given = (this.query.get("name") ?? "").trim();
    const { placed } = SHOWN[only] ?? {};
    return {
      ...(isSelector(given) ? { labelSelector: given } : given ? { namePart: given } : {}),
      ...(placed === undefined ? {} : { placed }),
    };
  }
}

import { html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { DecisionJson } from "../contract/mooring/v1/decision_service_pb";
import type { PluginInfoJson, ProfileJson } from "../contract/mooring/v1/plugin_service_pb";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { pointName } from "../page/words";
import { shared } from "../styles";
import { decisionGrid } from "./decisions";
import { listPlugins, pluginState } from "./profiles";

/** One plugin: where it is in force, with which arguments, and whom it rejected last. */
@customElement("mooring-plugin")
export class Plugin extends LitElement {
  @property() name = "";

  private readonly info = new Loader<PluginInfoJson | undefined>(
    this,
    async (signal) => (await listPlugins(signal)).find(({ name }) => name === this.name),
    { key: () => this.name },
  );
  private readonly profiles = new Loader<ProfileJson[]>(
    this,
    async (signal) => (await call("PluginService/ListProfiles", {}, signal)).profiles ?? [],
  );
  private readonly rejections = new Loader<DecisionJson[]>(this, (signal) => this.listRejections(signal), { key: () => this.name });

  static override styles = [shared];

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <h1>${this.name}</h1>
      ${this.info.show((info) => (info ? facts(info) : html`<p class="failure" role="alert">The process knows no such plugin.</p>`))}
      ${this.profiles.show((profiles) => profiles.map((profile) => this.configured(profile)))}
      <section class="stack tight" aria-labelledby="rejections">
        <h2 id="rejections">Decisions in which it rejected something</h2>
        ${this.rejections.show((decisions) => decisionGrid("Decisions in which the plugin rejected something, the newest first", decisions))}
      </section>
    </div>`;
  }

  private configured({ name: profile, extensionPoints = [], configurationJson = "{}" }: ProfileJson): TemplateResult | typeof nothing {
    const enabled = extensionPoints.filter(({ plugins = [] }) => plugins.some(({ name }) => name === this.name));
    if (!enabled.length) return nothing;
    const weight = enabled.flatMap(({ plugins = [] }) => plugins.filter(({ name }) => name === this.name)).find((one) => one.weight)?.weight;
    const { pluginConfig = [] } = JSON.parse(configurationJson) as { pluginConfig?: { name: string; args: unknown }[] };
    const args = pluginConfig.find(({ name }) => name === this.name)?.args;
    return html`<section class="card stack tight" aria-label="In profile ${profile!}">
      <h2>In profile ${profile}</h2>
      <dl class="facts">
        <div><dt>Extension points</dt><dd>${enabled.map(({ extensionPoint }) => pointName(extensionPoint ?? "")).join(", ")}</dd></div>
        ${weight ? html`<div><dt>Weight</dt><dd>${weight}</dd></div>` : nothing}
      </dl>
      ${args ? html`<pre tabindex="0" aria-label="Arguments">${JSON.stringify(args, undefined, 2)}</pre>` : html`<p class="quiet">No arguments.</p>`}
    </section>`;
  }

  private async listRejections(signal: AbortSignal): Promise<DecisionJson[]> {
    const filter = { rejectingPlugin: this.name };
    return ((await call("DecisionService/ListDecisions", { filter, limit: 100 }, signal)).decisions ?? []).reverse();
  }
}

function facts({ state, source, profiles = [], loadError }: PluginInfoJson): TemplateResult {
  return html`<dl class="facts">
      <div><dt>State</dt><dd>${pluginState(state)}</dd></div>
      <div><dt>From</dt><dd>${source}</dd></div>
      <div><dt>In profiles</dt><dd>${profiles.join(", ") || "none"}</dd></div>
    </dl>
    ${loadError ? html`<pre tabindex="0">${loadError}</pre>` : nothing}`;
}

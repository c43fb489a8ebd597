import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { ConfigurationPeriodJson, ListProfilesResponseJson, PluginInfoJson, ProfileJson } from "../contract/mooring/v1/plugin_service_pb";
import "../elements/copy";
import { age, amount } from "../matrix/amounts";
import { type ConfigurationDifference, configurationDifferences } from "../matrix/configuration";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { link } from "../page/route";
import { pointName, word } from "../page/words";
import { shared } from "../styles";

/** The profiles: which plugin is in force at which extension point, in which order, and with which weight. */
@customElement("mooring-profiles")
export class Profiles extends LitElement {
  /** `from` and `to` are the hashes of two configurations that are compared; without `to` with the one in force. */
  @property({ attribute: false }) query = new URLSearchParams();

  private readonly compared = new Loader<ConfigurationDifference[] | undefined>(this, (signal) => compare(this.query, signal), {
    key: () => this.query.toString(),
  });
  private readonly profiles = new Loader<ListProfilesResponseJson>(
    this,
    (signal) => call("PluginService/ListProfiles", {}, signal),
    { every: 15_000 },
  );
  private readonly plugins = new Loader<PluginInfoJson[]>(this, listPlugins);

  static override styles = [
    shared,
    css`
      .scroll {
        overflow-x: auto;
      }
      table {
        border-collapse: collapse;
        font-size: 0.8125rem;
      }
      th {
        text-align: start;
        font-weight: inherit;
        white-space: nowrap;
      }
      thead th {
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s3);
        border-bottom: 1px solid var(--line);
      }
      td,
      thead th:nth-child(n + 2) {
        text-align: center;
        white-space: nowrap;
      }
      tbody th {
        position: sticky;
        left: 0;
        background: var(--raised);
      }
      .list td,
      .list thead th:nth-child(n + 2) {
        text-align: start;
      }
      .periods {
        padding-inline-start: var(--s4);
      }
      .weight {
        font-weight: 600;
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <div class="row between">
        <h1>Profiles</h1>
        <mooring-copy
          .copies=${copiesOf("", "PluginService/ListProfiles", {})}
        ></mooring-copy>
      </div>
      ${this.profiles.show(
        ({ profiles = [], configurationHash = "", configurations = [] }) =>
          html`<p class="quiet">Configuration <span class="mono">${configurationHash}</span></p>
            ${this.query.get("from") ? this.comparison() : nothing}
            ${configurations.length > 1 ? periods(configurations) : nothing} ${profiles.map(profile)}`,
      )}
      <section class="card stack tight" aria-labelledby="plugins">
        <h2 id="plugins">All plugins that the process knows</h2>
        ${this.plugins.show((plugins) => pluginTable(plugins))}
      </section>
    </div>`;
  }

  private comparison(): TemplateResult {
    const [from, to] = [this.query.get("from") ?? "", this.query.get("to") ?? ""];
    return html`<section class="card stack tight" aria-labelledby="compared">
      <div class="row between">
        <h2 id="compared">From <span class="mono">${from.slice(0, 8)}</span> to ${to ? html`<span class="mono">${to.slice(0, 8)}</span>` : "now"}</h2>
        <a href=${link(["profiles"])}>Close</a>
      </div>
      ${this.compared.show((found) => (found?.length ? differenceTable(found) : html`<p class="good">✓ Nothing differs.</p>`))}
    </section>`;
  }
}

/** Returns in what two configurations differ; undefined where none is to be compared. */
async function compare(query: URLSearchParams, signal: AbortSignal): Promise<ConfigurationDifference[] | undefined> {
  const [from, to] = [query.get("from"), query.get("to") ?? ""];
  if (!from) return undefined;
  const [before, after] = await Promise.all([documentOf(from, signal), documentOf(to, signal)]);
  return configurationDifferences(before, after);
}

async function documentOf(configurationHash: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const { profiles = [] } = await call("PluginService/ListProfiles", { configurationHash }, signal);
  return Object.fromEntries(profiles.map(({ name = "", configurationJson = "{}" }) => [name, JSON.parse(configurationJson) as unknown]));
}

/** Returns the configurations since the start, each with what it changed. */
function periods(found: ConfigurationPeriodJson[]): TemplateResult {
  return html`<section class="card stack tight" aria-labelledby="periods">
    <h2 id="periods">Since the start</h2>
    <ol class="periods">
      ${found.map(({ hash = "", beginTime }, at) => {
        const before = found[at - 1]?.hash;
        return html`<li>
          <span class="mono">${hash.slice(0, 8)}</span> ${age(beginTime)} ago
          ${before && before !== hash ? html`<a href=${link(["profiles"], { from: before, to: hash })}>what it changed</a>` : nothing}
        </li>`;
      })}
    </ol>
  </section>`;
}

export async function listPlugins(signal: AbortSignal): Promise<PluginInfoJson[]> {
  return (await call("PluginService/ListPlugins", {}, signal)).plugins ?? [];
}

function differenceTable(found: ConfigurationDifference[]): TemplateResult {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Differences">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        ${found.map(
          ({ path, before, after }) =>
            html`<tr>
              <th scope="row">${path}</th>
              <td class="mono">${before ?? html`<span class="quiet">absent</span>`}</td>
              <td class="mono">${after ?? html`<span class="quiet">absent</span>`}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function profile({ name = "", extensionPoints = [], weightSum = "0", unsupportedPlugins = [] }: ProfileJson): TemplateResult {
  const points = extensionPoints.map(({ extensionPoint, plugins = [] }) => ({ point: pointName(extensionPoint ?? ""), plugins }));
  const plugins = [...new Set(points.flatMap(({ plugins: enabled }) => enabled.map((one) => one.name ?? "")))];
  return html`<section class="card stack tight" aria-label="Profile ${name}">
    <div class="row between">
      <h2>${name}</h2>
      <p class="quiet">Numbers are the order of calls; a total is at most ${amount(100 * Number(weightSum))}</p>
    </div>
    ${unsupportedPlugins.length ? html`<p class="warn">⚠ Not evaluated: ${unsupportedPlugins.join(", ")}</p>` : nothing}
    <div class="scroll" tabindex="0" role="group" aria-label="Plugins of ${name} by extension point">
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            ${points.map(({ point }) => html`<th scope="col">${point}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${plugins.map(
            (plugin) =>
              html`<tr>
                <th scope="row"><a href=${link(["plugins", plugin])}>${plugin}</a></th>
                ${points.map(({ plugins: enabled }) => {
                  const at = enabled.findIndex((one) => one.name === plugin);
                  const weight = Number(enabled[at]?.weight ?? 0);
                  return html`<td>${at < 0 ? nothing : at + 1}${weight ? html` <span class="weight">× ${weight}</span>` : nothing}</td>`;
                })}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function pluginTable(plugins: PluginInfoJson[]): TemplateResult {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="All plugins">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Plugin</th>
          <th scope="col">State</th>
          <th scope="col">From</th>
          <th scope="col">In profiles</th>
          <th scope="col">Extension points</th>
        </tr>
      </thead>
      <tbody>
        ${plugins.map(
          ({ name = "", state, source, profiles = [], extensionPoints = [] }) =>
            html`<tr>
              <th scope="row"><a href=${link(["plugins", name])}>${name}</a></th>
              <td>${pluginState(state)}</td>
              <td>${source}</td>
              <td>${profiles.join(", ") || html`<span class="quiet">none</span>`}</td>
              <td>${extensionPoints.map(pointName).join(", ")}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Returns a plugin's state with its mark. */
export function pluginState(state: string | undefined): TemplateResult {
  const text = word(state, "PLUGIN_STATE_");
  if (text === "available") return html`<span class="good">✓ ${text}</span>`;
  return html`<span class=${text === "failed" ? "bad" : "warn"}>${text === "failed" ? "✕" : "⚠"} ${text}</span>`;
}

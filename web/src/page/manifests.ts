/** Manifests: what people paste, and what the contract takes and gives. */

import type { KubernetesObjectJson } from "../contract/mooring/v1/objects_pb";
import { call } from "./gateway";

interface Owner {
  kind?: string;
  name?: string;
  controller?: boolean;
}

export interface Manifest {
  apiVersion?: string;
  kind?: string;
  metadata?: { name?: string; namespace?: string; uid?: string; labels?: Record<string, string>; ownerReferences?: Owner[] };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

interface Template {
  metadata?: Manifest["metadata"];
  spec?: Manifest["spec"];
}

/** Returns the pod of a manifest in YAML or JSON: itself, or the one that a workload makes. Throws an Error that says what is wrong. */
export async function readPod(text: string): Promise<Manifest> {
  const { load } = await import("js-yaml");
  const document = load(text) as Manifest | null | undefined;
  if (typeof document !== "object" || !document) throw new Error("A manifest is expected: a Pod, or what makes pods.");
  if (document.kind === "Pod") return document;
  const template = (document.spec?.template ?? (document.spec?.jobTemplate as Manifest | undefined)?.spec?.template) as Template | undefined;
  if (!template?.spec) throw new Error(`A Pod, or what makes pods, is expected, not ${document.kind ?? "this"}.`);
  const { name = "pod", namespace = "default" } = document.metadata ?? {};
  return { apiVersion: "v1", kind: "Pod", metadata: { ...template.metadata, name: `${name}-what-if`, namespace }, spec: template.spec };
}

/** Returns the objects of manifests in YAML or JSON; a List is what it has. Throws an Error that says what is wrong. */
export async function readObjects(text: string): Promise<Manifest[]> {
  const { loadAll } = await import("js-yaml");
  const documents = loadAll(text) as (Manifest & { items?: Manifest[] })[];
  const objects = documents.filter(Boolean).flatMap((document) => (document.kind?.endsWith("List") ? (document.items ?? []) : [document]));
  if (!objects.length) throw new Error("Manifests are expected, such as that of a Node; there is none.");
  const nameless = objects.find((object) => typeof object !== "object" || !object.kind || !object.metadata?.name);
  if (nameless) throw new Error("Each manifest needs a kind and metadata.name.");
  return objects.map((object) => ({ ...object, metadata: { ...object.metadata, uid: object.metadata?.uid ?? uidOf(object) } }));
}

function uidOf({ kind = "", metadata }: Manifest): string {
  return `${kind}/${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

/** The name of a pod group. */
export interface GroupName {
  namespace: string;
  name: string;
}

/** Returns the pod group that a pod names; undefined if there is none. */
export function groupOf({ metadata, spec }: Manifest): GroupName | undefined {
  const { podGroupName: name } = (spec?.schedulingGroup ?? {}) as { podGroupName?: string };
  return name ? { namespace: metadata?.namespace ?? "default", name } : undefined;
}

/** Returns the manifest as YAML. */
export async function toYaml(manifest: Manifest): Promise<string> {
  const { dump } = await import("js-yaml");
  return dump(manifest);
}

/** Returns the object as the contract's JSON has it: bytes in base64. */
export function encoded(manifest: Manifest): KubernetesObjectJson {
  const bytes = new TextEncoder().encode(JSON.stringify(manifest));
  return { json: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) };
}

/** Returns a node or pod as the process knows it. */
export async function getManifest(kind: "Node" | "Pod", namespace: string, name: string, signal?: AbortSignal): Promise<Manifest> {
  const { object } = await call("ClusterService/GetObject", { kind, namespace, name }, signal);
  const bytes = Uint8Array.from(atob(object?.json ?? ""), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Manifest;
}

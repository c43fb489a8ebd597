/** Asks the process behind the page, through the gateway beside it, which speaks Connect's unary JSON. */

import type * as cluster from "../contract/mooring/v1/cluster_service_pb";
import type * as decision from "../contract/mooring/v1/decision_service_pb";
import type * as plugin from "../contract/mooring/v1/plugin_service_pb";
import type * as scheduling from "../contract/mooring/v1/scheduling_service_pb";
import type * as simulation from "../contract/mooring/v1/simulation_service_pb";
import { parseRoute } from "./route";
import { quoted } from "./words";

/** Each call that the page makes: its request and its response, as the contract's JSON. */
export interface Methods {
  "ClusterService/GetClusterInfo": [cluster.GetClusterInfoRequestJson, cluster.GetClusterInfoResponseJson];
  "ClusterService/GetObject": [cluster.GetObjectRequestJson, cluster.GetObjectResponseJson];
  "ClusterService/ListNodes": [cluster.ListNodesRequestJson, cluster.ListNodesResponseJson];
  "ClusterService/ListPendingPods": [cluster.ListPendingPodsRequestJson, cluster.ListPendingPodsResponseJson];
  "ClusterService/ListPods": [cluster.ListPodsRequestJson, cluster.ListPodsResponseJson];
  "DecisionService/GetPodHistory": [decision.GetPodHistoryRequestJson, decision.GetPodHistoryResponseJson];
  "DecisionService/GetTimeLine": [decision.GetTimeLineRequestJson, decision.GetTimeLineResponseJson];
  "DecisionService/ListDecisions": [decision.ListDecisionsRequestJson, decision.ListDecisionsResponseJson];
  "DecisionService/ListQueue": [decision.ListQueueRequestJson, decision.ListQueueResponseJson];
  "DecisionService/SummarizeReasons": [decision.SummarizeReasonsRequestJson, decision.SummarizeReasonsResponseJson];
  "PluginService/GetCapabilities": [plugin.GetCapabilitiesRequestJson, plugin.GetCapabilitiesResponseJson];
  "PluginService/ListPlugins": [plugin.ListPluginsRequestJson, plugin.ListPluginsResponseJson];
  "PluginService/ListProfiles": [plugin.ListProfilesRequestJson, plugin.ListProfilesResponseJson];
  "SchedulingService/Schedule": [scheduling.ScheduleRequestJson, scheduling.ScheduleResponseJson];
  "SchedulingService/Explain": [scheduling.ExplainRequestJson, scheduling.ExplainResponseJson];
  "SimulationService/AssignBlame": [simulation.AssignBlameRequestJson, simulation.AssignBlameResponseJson];
  "SimulationService/EstimateCapacity": [simulation.EstimateCapacityRequestJson, simulation.EstimateCapacityResponseJson];
  "SimulationService/SuggestChanges": [simulation.SuggestChangesRequestJson, simulation.SuggestChangesResponseJson];
  "SimulationService/ChangeSession": [simulation.ChangeSessionRequestJson, simulation.ChangeSessionResponseJson];
  "SimulationService/CloseSession": [simulation.CloseSessionRequestJson, simulation.CloseSessionResponseJson];
  "SimulationService/MarkSession": [simulation.MarkSessionRequestJson, simulation.MarkSessionResponseJson];
  "SimulationService/OpenSession": [simulation.OpenSessionRequestJson, simulation.OpenSessionResponseJson];
  "SimulationService/PlanNodeGroups": [simulation.PlanNodeGroupsRequestJson, simulation.PlanNodeGroupsResponseJson];
  "SimulationService/PlanRemoval": [simulation.PlanRemovalRequestJson, simulation.PlanRemovalResponseJson];
  "SimulationService/RevertSession": [simulation.RevertSessionRequestJson, simulation.RevertSessionResponseJson];
}

export interface Process {
  name: string;
  /** HOST:PORT or unix:PATH. */
  address: string;
  /** What a command gives as --cluster to ask the same: server:ADDRESS, or the source that the process has read. */
  source: string;
  state: "ok" | "unreachable";
  message?: string;
}

/** A call that was not answered. */
export class GatewayError extends Error {
  /** Connect's code, such as not_found, and the contract's reason, such as DECISION_NOT_FOUND; either may be empty. */
  constructor(
    message: string,
    readonly code: string,
    readonly reason: string,
  ) {
    super(message);
  }
}

/** Calls the process that the page looks at. Throws GatewayError, or the signal's reason. */
export async function call<Name extends keyof Methods>(
  method: Name,
  request: Methods[Name][0],
  signal?: AbortSignal,
): Promise<Methods[Name][1]> {
  const response = await ask(methodPath(method), post(request), signal);
  return (await response.json()) as Methods[Name][1];
}

/** Returns the columns of a decision: as they were kept, or else, or with `again`, made again. */
export async function decisionColumns(seq: string, again: boolean, signal?: AbortSignal): Promise<ArrayBuffer> {
  const path = `decisions/${encodeURIComponent(seq)}/columns${again ? "?again=1" : ""}`;
  return (await ask(path, {}, signal)).arrayBuffer();
}

/** Returns the columns of an explanation of now. */
export async function explainColumns(request: scheduling.ExplainRequestJson, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await ask("explain/columns", post(request), signal)).arrayBuffer();
}

/** Returns the processes that can be looked at. */
export async function listProcesses(signal?: AbortSignal): Promise<Process[]> {
  const answer = (await (await ask("processes", {}, signal)).json()) as { processes: Process[] };
  processes = answer.processes;
  return processes;
}

/** Those that were listed last. */
let processes: Process[] = [];

const DEFAULT_SERVER = "server:127.0.0.1:50051";

function chosenProcess(): Process | undefined {
  const name = parseRoute(location.hash).query.get("process");
  return processes.find((one) => one.name === name) ?? processes[0];
}

/** Returns the flags with which a command asks the cluster that the page looks at. */
export function clusterFlags(): string[] {
  const { source = DEFAULT_SERVER } = chosenProcess() ?? {};
  return source === DEFAULT_SERVER ? [] : ["--cluster", quoted(source)];
}

/** Returns the address of the process that the page looks at, as grpcurl takes it. */
export function serverAddress(): string {
  const { address: known = "" } = chosenProcess() ?? {};
  return known.startsWith("unix:") ? `-unix ${quoted(known.slice("unix:".length))}` : known;
}

const offered = new Map<string, Promise<readonly string[]>>();

/** Returns whether the process that the page looks at answers a method; some depend on how it was started. */
export async function offers(method: keyof Methods): Promise<boolean> {
  const key = chosenProcess()?.source ?? "";
  const known = offered.get(key) ?? call("PluginService/GetCapabilities", {}).then(({ rpcs = [] }) => rpcs);
  offered.set(key, known);
  try {
    return (await known).includes(methodPath(method));
  } catch (error) {
    offered.delete(key);
    throw error;
  }
}

/** Returns the path of a method of the contract. */
export function methodPath(method: string): string {
  return `mooring.v1.${method}`;
}

/** Returns the address of a call, for "copy as curl". */
export function address(path: string): string {
  const url = new URL(`api/v1/${path}`, document.baseURI);
  const process = parseRoute(location.hash).query.get("process");
  if (process) url.searchParams.set("process", process);
  return url.href;
}

/** Returns the names of the nodes with such labels, given as kubectl takes them. */
export async function nodesWith(selector: string, signal?: AbortSignal): Promise<string[]> {
  return (await call("ClusterService/ListNodes", { labelSelector: selector }, signal)).nodes?.names?.names ?? [];
}

function post(request: unknown): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request) };
}

async function ask(path: string, options: RequestInit, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address(path), { ...options, signal: signal ?? null });
  } catch (error) {
    signal?.throwIfAborted();
    throw new GatewayError(`mooring web does not answer: ${(error as Error).message}`, "unavailable", "");
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as ConnectError;
  const info = body.details?.find((detail) => detail.type === "google.rpc.ErrorInfo");
  throw new GatewayError(body.message ?? `HTTP ${response.status}`, body.code ?? "", info?.debug?.reason ?? "");
}

interface ConnectError {
  code?: string;
  message?: string;
  details?: { type: string; debug?: { reason?: string } }[];
}

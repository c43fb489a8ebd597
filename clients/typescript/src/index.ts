export type { ExplainedNode, Explanation, Filtered, PluginScore, Scored } from "./answers.js";
export { type CallOptions, Client, type ClientOptions, type DecisionOptions, type NodeQuestion, type Question, type Reserved, type ScheduleOptions, type Seeded } from "./client.js";
export type { Tls } from "./connection.js";
export { MooringError, type Reason } from "./errors.js";
export { CommitMode, CommitOutcome } from "./gen/mooring/v1/scheduling_service_pb.js";
export { type Verdict, VerdictCode } from "./gen/mooring/v1/verdicts_pb.js";
export type { NodeUpdate } from "./nodes.js";
export { type Manifest, type Placement, type Pod, type Pods, type Reference, sourceOf as podSource } from "./pods.js";
export { type Changes, Session, type SessionOptions } from "./session.js";

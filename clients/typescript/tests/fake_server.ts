import assert from "node:assert/strict";
import { promisify } from "node:util";

import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { anyPack, AnySchema } from "@bufbuild/protobuf/wkt";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type handleServerStreamingCall, type handleUnaryCall, Metadata, Server, ServerCredentials, type ServiceError, status } from "@grpc/grpc-js";

import { CallErrorSchema, ErrorReason } from "../src/contract.js";
import { Client } from "../src/index.js";

/** A call that the server must receive, and its answers. */
export interface Step {
  readonly path: string;
  readonly streaming?: boolean;
  answer(request: Uint8Array): Iterable<Uint8Array>;
}

type Init<D extends DescMessage> = MessageInitShape<D>;

/** A step that checks the request and answers. */
export function reply<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  answer: Init<O> | ((request: MessageShape<I>) => Init<O>),
): Step {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    answer(bytes) {
      const request = fromBinary(method.input, bytes);
      const init = typeof answer === "function" ? answer(request) : answer;
      return [toBinary(method.output, create(method.output, init as Init<O>))];
    },
  };
}

/** A step that checks the request and answers many times; then the stream ends, or fails with that code. */
export function stream<I extends DescMessage, O extends DescMessage>(
  method: DescMethodServerStreaming<I, O>,
  answers: (request: MessageShape<I>) => Init<O>[],
  code?: status,
): Step {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    streaming: true,
    *answer(bytes) {
      for (const init of answers(fromBinary(method.input, bytes))) yield toBinary(method.output, create(method.output, init));
      if (code !== undefined) throw failure(code, undefined, {});
    },
  };
}

/** A step that fails. */
export function fail<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  code: status,
  reason?: ErrorReason,
  metadata: Record<string, string> = {},
): Step {
  const path = `/${method.parent.typeName}/${method.name}`;
  return { path, answer: () => { throw failure(code, reason, metadata); } };
}

function failure(code: status, reason: ErrorReason | undefined, metadata: Record<string, string>): Partial<ServiceError> {
  const trailers = new Metadata();
  if (reason !== undefined) {
    const detail = anyPack(CallErrorSchema, create(CallErrorSchema, { reason, metadata }));
    const encoded = new BinaryWriter().tag(3, WireType.LengthDelimited).bytes(toBinary(AnySchema, detail)).finish();
    trailers.set("grpc-status-details-bin", Buffer.from(encoded));
  }
  return { code, details: "as the test says", metadata: trailers };
}

/** Asks a server that takes these steps; fails if one was not taken. */
export async function ask<T>(steps: readonly Step[], question: (client: Client) => Promise<T>): Promise<T> {
  await using server = await FakeServer.start(...steps);
  const client = new Client(server.address);
  try {
    return await question(client);
  } finally {
    client.close();
    assert.equal(server.steps.length, 0, "calls that were not made");
  }
}

/** A server that takes the steps in order; another call fails. */
export class FakeServer implements AsyncDisposable {
  private constructor(
    private readonly server: Server,
    /** The steps that were not taken. */
    readonly steps: Step[],
    readonly address: string,
  ) {}

  static async start(...steps: Step[]): Promise<FakeServer> {
    const server = new Server();
    const bytes = (message: Uint8Array) => Buffer.from(message);
    const taken = (path: string, request: Uint8Array): Iterable<Uint8Array> => {
      const step = steps.shift();
      if (step?.path === path) return step.answer(request);
      throw { code: status.INTERNAL, details: `expected ${step?.path}` };
    };
    const once: handleUnaryCall<Buffer, Uint8Array> = (call, callback) => {
      try {
        callback(null, [...taken(call.getPath(), call.request)][0]);
      } catch (error) {
        callback(error as Partial<ServiceError>);
      }
    };
    const many: handleServerStreamingCall<Buffer, Uint8Array> = (call) => {
      try {
        for (const answer of taken(call.getPath(), call.request)) call.write(answer);
        call.end();
      } catch (error) {
        call.emit("error", error);
      }
    };
    for (const { path, streaming } of steps) {
      server.register(path, streaming ? many : once, bytes, bytes, streaming ? "serverStream" : "unary");
    }
    const port = await promisify(server.bindAsync.bind(server))("127.0.0.1:0", ServerCredentials.createInsecure());
    return new FakeServer(server, steps, `127.0.0.1:${port}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.forceShutdown();
  }
}

import {
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client as Channel, type ClientOptions, credentials, Metadata } from "@grpc/grpc-js";

/** Certificates and keys, in PEM form. */
export interface Tls {
  /** Certificates of those that may sign the server's; default those that Node trusts. */
  readonly ca?: Uint8Array | undefined;
  /** The client's own certificate; needs `key`. */
  readonly cert?: Uint8Array | undefined;
  readonly key?: Uint8Array | undefined;
  /** The name in the server's certificate; default the host of the address. */
  readonly serverName?: string;
}

/** How a client connects. */
export interface ConnectionOptions {
  /** Turns TLS on; true = with the certificates that Node trusts. Default: no TLS. */
  readonly tls?: Tls | boolean;
  /** The largest answer to accept, in bytes; default 64 MiB. */
  readonly maxMessageBytes?: number;
}

/** What ends a call. */
export interface Limits {
  /** When, as `Date.now()` counts. */
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
}

/** A connection to one server, which makes each call once. Calls fail with gRPC's `ServiceError`, or the signal's reason. */
export class Connection {
  readonly #channel: Channel;

  /** `address` is HOST:PORT or unix:/PATH. */
  constructor(address: string, { tls = false, maxMessageBytes = 64 * 2 ** 20 }: ConnectionOptions) {
    const { ca, cert, key, serverName } = typeof tls === "object" ? tls : {};
    const pem = (bytes: Uint8Array | undefined) => bytes ? Buffer.from(bytes) : null;
    const options: ClientOptions = {
      "grpc.max_receive_message_length": maxMessageBytes,
      "grpc.max_send_message_length": -1,
      // A server that starts again is found within the pauses between repeats.
      "grpc.initial_reconnect_backoff_ms": 50,
      "grpc.max_reconnect_backoff_ms": 1000,
      // Repeats are decided in one place.
      "grpc.enable_retries": 0,
    };
    if (serverName !== undefined) options["grpc.ssl_target_name_override"] = serverName;
    const secured = tls ? credentials.createSsl(pem(ca), pem(key), pem(cert)) : credentials.createInsecure();
    this.#channel = new Channel(address, secured, options);
  }

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    { deadline, signal }: Limits,
  ): Promise<MessageShape<O>> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const call = this.#channel.makeUnaryRequest(
        pathOf(method), encoder(method.input), decoder(method.output), request, new Metadata(), { deadline },
        (error, response) => {
          signal?.removeEventListener("abort", cancel);
          if (error) reject(signal?.aborted ? signal.reason : error);
          else resolve(response!);
        },
      );
      const cancel = () => call.cancel();
      signal?.addEventListener("abort", cancel);
    });
  }

  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    { deadline, signal }: Limits,
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    signal?.throwIfAborted();
    const call = this.#channel.makeServerStreamRequest(
      pathOf(method), encoder(method.input), decoder(method.output), request, new Metadata(), { deadline },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener("abort", cancel);
    try {
      yield* call;
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener("abort", cancel);
      cancel();
    }
  }

  close(): void {
    this.#channel.close();
  }
}

const pathOf = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;

const encoder = <D extends DescMessage>(schema: D) => (message: MessageShape<D>) => Buffer.from(toBinary(schema, message));

const decoder = <D extends DescMessage>(schema: D) => (bytes: Buffer) => fromBinary(schema, bytes);

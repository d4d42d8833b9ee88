// The platform's globals that Node does not have. Set once in a thread, however often the service is loaded.

import { setTimeout as wait } from "node:timers/promises";
import { Line } from "./line.ts";

const SWITCHING_PROTOCOLS = 101;

const RealResponse = Response;
const RealRequest = Request;

/** Node makes no answer with status 101. */
class PlatformResponse extends RealResponse {
  override readonly webSocket: WebSocket | null;

  constructor(body?: BodyInit | null, init: ResponseInit = {}) {
    const isUpgrade = init.status === SWITCHING_PROTOCOLS;
    // `init` may itself be an answer, whose fields are no own properties.
    super(body, isUpgrade ? { headers: init.headers ?? {} } : init);
    this.webSocket = init.webSocket ?? null;
    if (isUpgrade) Object.defineProperty(this, "status", { value: SWITCHING_PROTOCOLS });
  }
}

/** Node asks for `duplex` where a body is a stream. */
class PlatformRequest extends RealRequest {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(input, init?.body == null ? init : ({ duplex: "half", ...init } as RequestInit));
  }
}

/** An enumerable pair, as `Object.values` reads it. */
class PlatformSocketPair {
  constructor() {
    const [one, other] = Line.pair();
    Object.assign(this, { 0: one, 1: other });
  }
}

Object.assign(globalThis, {
  Response: PlatformResponse,
  Request: PlatformRequest,
  WebSocketPair: PlatformSocketPair,
  WebSocketRequestResponsePair: class {},
  scheduler: { wait: (ms: number) => wait(ms) },
});

// What an object that was ended still had under way fails, and nobody waits for it.
process.on("unhandledRejection", () => {});

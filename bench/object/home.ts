// The real object of a tenant in plain Node, and the edge's end of its line: what its own code costs, without the
// platform.

import "./stand-in.ts";
import { LINE_URL } from "../../durable-objects/sockets/object-line.ts";
import { MemoryStorage, TAKES_ALL } from "./storage.ts";

type Hear = (event: { data: string }) => void;

/** One end of a connection: what it sends comes to the other in a later microtask. */
class SocketEnd {
  other: SocketEnd | null = null;
  hear: Hear = () => {};

  accept(): void {}

  addEventListener(name: string, hear: Hear): void {
    if (name === "message") this.hear = hear;
  }

  send(text: string): void {
    queueMicrotask(() => this.other?.hear({ data: text }));
  }

  close(): void {}
}

class Pair {
  readonly 0 = new SocketEnd();
  readonly 1 = new SocketEnd();

  constructor() {
    this[0].other = this[1];
    this[1].other = this[0];
  }
}

class Opened {
  readonly webSocket: SocketEnd;

  constructor(_body: unknown, init: { webSocket: SocketEnd }) {
    this.webSocket = init.webSocket;
  }
}

/** The edge's end of the object's line (`durable-objects/sockets/object-line.ts`). */
export class EdgeEnd {
  readonly #end: SocketEnd;
  readonly #answers = new Map<number, (text: string) => void>();
  #lastNumber = 0;
  /** Called with what sockets are told. */
  told: (text: string) => void = () => {};

  constructor(end: SocketEnd) {
    this.#end = end;
    end.hear = ({ data }) => {
      const at = data.indexOf("\n");
      const number = Number(data.slice(0, at));
      if (number === 0) return this.told(data.slice(at + 1));
      this.#answers.get(number)?.(data.slice(at + 1));
      this.#answers.delete(number);
    };
  }

  ask(method: string, text: string): Promise<string> {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.#end.send(`${number} ${method}\n${text}`);
    return new Promise((resolve) => this.#answers.set(number, resolve));
  }

  say(text: string): void {
    this.#end.send(`0 sockets\n${text}`);
  }
}

export const ADMIN = { kind: "key", id: "admin", hash: "hash" } as const;

const heedsNothing = async (): Promise<void> => {};
const RELAY = { getByName: () => ({ endKey: heedsNothing, dropBody: heedsNothing, end: heedsNothing }) };

/** Not followed by the compiler: the object is checked with the platform's types, which are not those of this project. */
const TENANT_MODULE: string = "../../durable-objects/tenant.ts";

/** What is called of the object. */
interface OpenedTenant {
  create: (request: unknown) => Promise<unknown>;
  fetch: (request: unknown) => Promise<unknown>;
  drain: () => Promise<boolean>;
  alarm: () => Promise<void>;
}

type TenantModule = { Tenant: new (state: unknown, env: unknown) => OpenedTenant };

export const openObject = async () => {
  Object.assign(globalThis, { WebSocketPair: Pair, WebSocketRequestResponsePair: class {}, Response: Opened });
  const { Tenant } = (await import(TENANT_MODULE)) as TenantModule;
  const storage = new MemoryStorage();
  const state = {
    id: { name: "bench" },
    storage,
    blockConcurrencyWhile: (work: () => Promise<unknown>) => work(),
    waitUntil: (work: Promise<unknown>) => void work.catch((error: unknown) => console.error(error)),
    getWebSockets: () => [],
    setWebSocketAutoResponse: () => {},
  };
  const env = { DB: TAKES_ALL, RELAY, SERVICE_LOG: "json", SERVICE_LOG_LEVEL: "error" };
  const tenant = new Tenant(state, env);
  storage.onAlarm = () => void tenant.alarm();
  const adminKey = { id: ADMIN.id, hash: ADMIN.hash, name: ADMIN.id, role: "admin" };
  await tenant.create({ tenant: "bench", locationHint: null, jurisdiction: null, adminKey });
  const opened = (await tenant.fetch({ url: LINE_URL })) as Opened;
  return { drain: () => tenant.drain(), edge: new EdgeEnd(opened.webSocket) };
};

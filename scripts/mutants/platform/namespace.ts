// Durable Objects in plain Node: the real classes, each object with its storage, alarm and sockets. What goes in and out
// of a call is copied, as between two machines.

import { setImmediate as nextTick } from "node:timers/promises";
import type { Hearer, Line } from "./line.ts";
import { Disk, Storage } from "./storage.ts";

interface Living {
  fetch(request: Request): Promise<Response>;
  alarm(): Promise<void>;
  webSocketMessage(line: Line, frame: string | ArrayBuffer): Promise<void>;
  webSocketClose(line: Line, code: number, reason: string, wasClean: boolean): Promise<void>;
  [method: string]: (...values: never[]) => unknown;
}

export type ObjectClass = new (ctx: unknown, env: unknown) => unknown;

interface Life {
  readonly object: Living;
  readonly state: { readonly storage: Storage };
  readonly ready: Promise<unknown>;
}

/** One object: asleep, or alive. */
export class Place implements Hearer {
  readonly #class: ObjectClass;
  readonly #env: unknown;
  readonly #name: string;
  readonly #disk = new Disk(() => void this.ring().catch(() => undefined));
  #lines: Line[] = [];
  #life: Life | null = null;

  constructor(objectClass: ObjectClass, env: unknown, name: string) {
    this.#class = objectClass;
    this.#env = env;
    this.#name = name;
  }

  async awake(): Promise<Life> {
    this.#life ??= this.#begin();
    await this.#life.ready;
    return this.#life;
  }

  #begin(): Life {
    const preparing: Promise<unknown>[] = [];
    const storage = new Storage(this.#disk);
    const state = {
      id: { name: this.#name, toString: () => this.#name },
      storage,
      blockConcurrencyWhile: (work: () => Promise<unknown>) => {
        preparing.push(work());
      },
      waitUntil: () => {},
      acceptWebSocket: (line: Line, tags: string[] = []) => {
        line.acceptedBy(this, tags);
        this.#lines.push(line);
      },
      getWebSockets: (tag?: string) => this.#lines.filter((line) => tag === undefined || line.tags.includes(tag)),
      setWebSocketAutoResponse: () => {},
      getWebSocketAutoResponseTimestamp: ({ pingedAt }: Line) => (pingedAt === null ? null : new Date(pingedAt)),
    };
    const object = new this.#class(state, this.#env) as Living;
    return { object, state, ready: Promise.all(preparing) };
  }

  /** Memory is lost; connections stay, unless they are cut. */
  async evict(areLinesCut = false): Promise<void> {
    await nextTick();
    if (this.#life !== null) this.#life.state.storage.isClosed = true;
    this.#life = null;
    if (areLinesCut) for (const line of this.#lines.splice(0)) line.cut();
  }

  /** For good: nothing of it runs any more. */
  end(): void {
    this.#disk.setAlarm(null);
    void this.evict();
  }

  /** Returns whether an alarm was set. */
  async ring(): Promise<boolean> {
    if (this.#disk.alarmAt === null) return false;
    this.#disk.setAlarm(null);
    await (await this.awake()).object.alarm();
    return true;
  }

  async message(line: Line, frame: string | ArrayBuffer): Promise<void> {
    await (await this.awake()).object.webSocketMessage(line, frame);
  }

  async closed(line: Line, code: number, reason: string): Promise<void> {
    this.#lines = this.#lines.filter((one) => one !== line);
    await (await this.awake()).object.webSocketClose(line, code, reason, true);
  }

  async call(method: string, given: unknown[]): Promise<unknown> {
    const { object } = await this.awake();
    await nextTick();
    return structuredClone(await object[method]?.(...(structuredClone(given) as never[])));
  }

  async fetch(request: Request): Promise<Response> {
    return (await this.awake()).object.fetch(request);
  }
}

/** The stub of the object, as callers see it. */
export interface Stub {
  readonly place: Place;
}

const stubOf = (place: Place): Stub =>
  new Proxy({ place } as Stub & Record<string, unknown>, {
    get: (target, name: string) => {
      if (name === "place") return target.place;
      if (name === "then") return;
      if (name === "fetch") return (given: RequestInfo, init?: RequestInit) => place.fetch(new Request(given, init));
      return (...given: unknown[]) => place.call(name, given);
    },
  });

export class Namespace {
  readonly #class: ObjectClass;
  readonly #env: unknown;
  readonly #places = new Map<string, Place>();

  constructor(objectClass: ObjectClass, env: unknown) {
    this.#class = objectClass;
    this.#env = env;
  }

  /** Jurisdictions differ in where objects are. */
  jurisdiction(): Namespace {
    return this;
  }

  idFromName(name: string): string {
    return name;
  }

  get = (name: string): Stub => this.getByName(name);

  getByName(name: string): Stub {
    const place = this.#places.get(name) ?? new Place(this.#class, this.#env, name);
    this.#places.set(name, place);
    return stubOf(place);
  }

  names(): string[] {
    return [...this.#places.keys()];
  }

  end(): void {
    for (const place of this.#places.values()) place.end();
  }
}

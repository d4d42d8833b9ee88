// What an idle fleet costs: CPU, bytes written and time in JavaScript while it only sends the protocol's ping, which
// Node answers and tells the object in groups; and the same when each worker also reports its presence, as `npm run
// worker` does.

import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { BeatingSockets } from "../beating-sockets.ts";
import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { type Inspected, startInspected } from "../inspected.ts";
import { Bundle } from "../measure/bundle.ts";
import { ensureDescriptors } from "../measure/descriptors.ts";
import { sharesOf } from "../measure/inspector.ts";
import { betweenMinutes, spentIn, untilQuiet } from "../measure/quiet.ts";
import type { Bench, Scale } from "../plan.ts";
import { createTenant, type Tenant } from "../signalbox.ts";

const WORKERS: Readonly<Record<Scale, number>> = { quick: 500, usual: 5_000, full: 10_000 };
const WINDOW_MS: Readonly<Record<Scale, number>> = { quick: 5_000, usual: 15_000, full: 30_000 };
/** The coordinator's default. */
const INTERVAL_MS = 15_000;
const TICK_MS = 10;
const SHOWN = 4;
const MIB = 1024 * 1024;

/** A presence report after half of the time to offline is stored: every second one, with the defaults. */
const STORED_CYCLE_MS = 2 * INTERVAL_MS;

type Way = "no workers" | "ping only" | "presence and ping";

export const idle = async ({ folder, scale, say }: Bench): Promise<void> => {
  const count = WORKERS[scale];
  ensureDescriptors(count);
  const served = await startInspected(path.join(folder, "idle"));
  let sockets: BeatingSockets | null = null;
  try {
    const tenant = await createTenant(served.port);
    await firstCallMs(tenant);
    await untilQuiet(served);
    const measure = (way: Way, windowMs: number, pulse: Pulse | null) =>
      measureWay({ served, way, windowMs, count, pulse, say });
    await measure("no workers", WINDOW_MS[scale], null);
    const emptyBytes = served.residentBytes();
    sockets = await BeatingSockets.connect(tenant, count);
    await untilQuiet(served);
    const fullBytes = served.residentBytes();
    const say1 = (what: string, unit: string, signalbox: number | null) =>
      say(figure({ part: "idle", what: `${count} workers: ${what}`, unit, signalbox }));
    if (emptyBytes !== null && fullBytes !== null) {
      say1("memory a socket", "KiB", (fullBytes - emptyBytes) / 1024 / count);
      say1("memory in all", "MiB", fullBytes / MIB);
    }
    await measure("ping only", WINDOW_MS[scale], new Pulse(sockets, ["ping"]));
    const wokenMs = await firstCallMs(tenant);
    say1("first call after a quiet time", "ms", wokenMs);
    say1("second call", "ms", await firstCallMs(tenant));
    await measure("presence and ping", STORED_CYCLE_MS, new Pulse(sockets, ["presence", "ping"]));
  } finally {
    sockets?.close();
    await served.stop();
  }
};

interface Measured extends Pick<Bench, "say"> {
  served: Inspected;
  way: Way;
  windowMs: number;
  count: number;
  pulse: Pulse | null;
}

const measureWay = async ({ served, way, windowMs, count, pulse, say }: Measured): Promise<void> => {
  const bundle = new Bundle();
  pulse?.start();
  try {
    const spent = await spentIn(served, windowMs);
    // Sampling slows down what it watches, so it has a window of its own.
    const profileMs = Math.min(windowMs, INTERVAL_MS);
    await betweenMinutes(profileMs);
    const taken = await served.inspector.profiled(() => pause(profileMs));
    const ran = sharesOf(taken, bundle).filter(({ name }) => name.includes("durable-objects/"));
    const of = (what: string, unit: string, value: number | null, note = "") =>
      say(figure({ part: "idle", what: `${count} workers, ${way}: ${what}`, unit, signalbox: value, note }));
    of("CPU", "ms/s", spent.cpuMs === null ? null : spent.cpuMs / spent.seconds);
    of("written", "B/s", spent.writtenBytes === null ? null : spent.writtenBytes / spent.seconds);
    const samples = ran.reduce((sum, { self }) => sum + self, 0) * taken.samples.length;
    const most = ran.slice(0, SHOWN).map(({ name }) => name);
    of("samples in the object's JavaScript", "1/s", (samples * 1000) / profileMs, most.join(", "));
  } finally {
    await pulse?.stop();
  }
};

const firstCallMs = async ({ port, authorization }: Tenant): Promise<number> => {
  const connection = await Connection.open(port, authorization);
  const startedAt = performance.now();
  await connection.call("GET", "/killswitch");
  const tookMs = performance.now() - startedAt;
  connection.close();
  return tookMs;
};

type Beat = "ping" | "presence";

/** Each worker sends each of the beats once per interval, spread evenly over it. */
class Pulse {
  readonly #sockets: BeatingSockets;
  readonly #beats: readonly Beat[];
  readonly #pending = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(sockets: BeatingSockets, beats: readonly Beat[]) {
    this.#sockets = sockets;
    this.#beats = beats;
  }

  start(): void {
    const startedAt = performance.now();
    const { count } = this.#sockets;
    let sent = 0;
    this.#timer = setInterval(() => {
      const due = ((performance.now() - startedAt) / INTERVAL_MS) * count;
      for (; sent < due; sent += 1) {
        this.#beats.forEach((beat, place) => {
          const index = (sent + Math.floor((place * count) / this.#beats.length)) % count;
          const answered = this.#sockets[beat](index);
          this.#pending.add(answered);
          answered.then(() => this.#pending.delete(answered));
        });
      }
    }, TICK_MS);
  }

  /** Resolves when each beat has been answered. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#pending);
  }
}

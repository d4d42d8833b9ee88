// A full halt of a tenant with thousands of workers on WebSockets: how long until its answer, until the last worker is
// told, and until the last one has confirmed. Each worker confirms as soon as it is told. The floor is a minimal object
// that stores one row, sends the same text to as many sockets and answers each of them, to the same client.

import path from "node:path";
import { BeatingSockets } from "../beating-sockets.ts";
import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { median } from "../load.ts";
import { ensureDescriptors } from "../measure/descriptors.ts";
import type { Bench, Scale } from "../plan.ts";
import { createTenant, startSignalbox } from "../signalbox.ts";
import { freshName } from "../workplace.ts";

const WORKERS: Readonly<Record<Scale, number>> = { quick: 1_000, usual: 4_500, full: 9_000 };
/** Halts in a row; the median counts. */
const HALTS = 5;
/** The first halt after connecting is slower than the others, so it is not counted. */
const WARM_UP_HALTS = 1;

const LEVEL = 4;
const HALTED = `"type":"killswitch","killswitch":{"level":${LEVEL}`;
const CLEARED = '"type":"killswitch","killswitch":{"level":0';

interface Times {
  answered: number;
  told: number;
  confirmed: number;
}

/** Where workers can be halted. */
interface Haltable {
  workers: BeatingSockets;
  halt: () => Promise<unknown>;
  /** Ends the halt: each worker is sent a frame with `CLEARED`. Null if there is nothing to end. */
  clear: (() => Promise<unknown>) | null;
  close: () => void;
}

export const killswitch = async ({ folder, scale, floor, say }: Bench): Promise<void> => {
  const count = WORKERS[scale];
  ensureDescriptors(count);
  const served = await startSignalbox(path.join(folder, "killswitch"));
  try {
    const signalbox = await measured(await haltableSignalbox(served.port, count));
    const least = await measured(await haltableFloor(floor.port, count));
    const shown = (what: string, ms: (times: Times) => number): void =>
      say(
        figure({
          part: "killswitch",
          what: `${count} workers: ${what}`,
          unit: "ms",
          floor: median(least.map(ms)),
          signalbox: median(signalbox.map(ms)),
        }),
      );
    shown("its answer", ({ answered }) => answered);
    shown("the last is told", ({ told }) => told);
    shown("the last has confirmed", ({ confirmed }) => confirmed);
  } finally {
    await served.stop();
  }
};

const haltableSignalbox = async (port: number, count: number): Promise<Haltable> => {
  const tenant = await createTenant(port);
  const workers = await BeatingSockets.connect(tenant, count);
  const operator = await Connection.open(port, tenant.authorization);
  return {
    workers,
    halt: () => operator.call("POST", "/killswitch", { level: LEVEL, reason: "bench" }),
    clear: () => operator.call("DELETE", "/killswitch?resume_all=true"),
    close: () => operator.close(),
  };
};

const haltableFloor = async (port: number, count: number): Promise<Haltable> => {
  const name = freshName();
  const workers = await BeatingSockets.connectTo(
    {
      url: () => `ws://127.0.0.1:${port}/${name}/connect`,
      authorization: "none",
      presenceOf: () => JSON.stringify([{ id: 0, result: "" }]),
      isWelcomed: false,
    },
    count,
  );
  const operator = await Connection.open(port);
  return {
    workers,
    halt: () => operator.call("POST", `/${name}/tell`, { text: `{${HALTED}}}` }),
    clear: null,
    close: () => operator.close(),
  };
};

const measured = async (place: Haltable): Promise<Times[]> => {
  const taken: Times[] = [];
  for (let halt = 0; halt < WARM_UP_HALTS + HALTS; halt += 1) {
    taken.push(await timesOf(place));
    if (place.clear !== null) await Promise.all([everyoneHears(place.workers, CLEARED), place.clear()]);
  }
  place.close();
  place.workers.close();
  return taken.slice(WARM_UP_HALTS);
};

const timesOf = async ({ workers, halt }: Haltable): Promise<Times> => {
  const startedAt = performance.now();
  const since = (): number => performance.now() - startedAt;
  const confirming: Promise<void>[] = [];
  const allTold = everyoneHears(workers, HALTED, (index) => confirming.push(workers.presence(index))).then(since);
  const answered = await halt().then(since);
  const told = await allTold;
  await Promise.all(confirming);
  return { answered, told, confirmed: since() };
};

/** Resolves when each worker has got a frame with this text. */
const everyoneHears = (workers: BeatingSockets, text: string, onHeard = (_index: number): unknown => null) => {
  const heard = new Set<number>();
  return new Promise<void>((resolve) => {
    workers.onFrame = (index, frame) => {
      if (heard.has(index) || !frame.includes(text)) return;
      heard.add(index);
      onHeard(index);
      if (heard.size === workers.count) resolve();
    };
  });
};

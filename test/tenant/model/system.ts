// The real tenant under the model: requests, sockets, sleep, aborts, the passing of time. Time passes by moving every
// stored instant back while the object sleeps, including its alarm, so that real alarms fire as they would.

import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { WorkerResource } from "../../../contract/fleet/worker.ts";
import type { JobResource } from "../../../contract/jobs/job.ts";
import type { KillswitchResource } from "../../../contract/killswitch.ts";
import type { Tenant } from "../../../durable-objects/tenant.ts";
import { type Answer, connect, JOURNAL_DUE, newWorld, type Socket, type World } from "../../support/workerd/client.ts";
import type { Span } from "./job-state.ts";
import { Contradiction } from "./model.ts";

export interface View {
  readonly nowAt: number;
  readonly jobs: readonly JobResource[];
  readonly workers: readonly WorkerResource[];
  readonly present: readonly string[];
  readonly killswitch: KillswitchResource;
  readonly metrics: string;
}

/** Due times outside the outbox. */
const DUE = `SELECT MIN(at) AS at FROM (
  SELECT MIN(due_at) AS at FROM jobs UNION ALL ${JOURNAL_DUE} UNION ALL SELECT MIN(until_at) FROM backoffs
  UNION ALL SELECT MIN(expires_at) FROM idempotency UNION ALL SELECT MIN(record ->> '$.pause.untilAt') FROM workers)`;
const PATIENCE_MS = 5_000;
const LOOK_AGAIN_MS = 5;
/** A handler that is already running has finished its turns by then. */
const HANDLER_MS = 3;

export class System {
  readonly world: World;
  readonly sockets = new Map<string, Socket>();
  #messages = 0;

  constructor(world: World) {
    this.world = world;
  }

  static async open(): Promise<System> {
    return new System(await newWorld());
  }

  get stub(): DurableObjectStub<Tenant> {
    return env.TENANT.get(env.TENANT.idFromName(this.world.tenant));
  }

  /** An answer and its time. */
  async timed<T>(call: () => Promise<T>): Promise<{ answer: T; span: Span }> {
    const fromAt = Date.now();
    const answer = await call();
    return { answer, span: { fromAt, untilAt: Date.now() } };
  }

  post(path: string, body?: unknown, key: string | null = null): Promise<Answer> {
    return this.world.post(path, body, key === null ? {} : { headers: { "idempotency-key": key } });
  }

  async connect(instance: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.world.key}` };
    const { socket, status } = await connect(`/api/workers/${instance}/connect`, headers);
    if (socket === null) throw new Contradiction(`${instance} could not connect: ${status}`);
    await within(
      `the welcome of ${instance}`,
      socket.next(({ type }) => type === "welcome"),
    );
    this.sockets.set(instance, socket);
  }

  /** Closes a socket, until the object has noticed. */
  async hangUp(instance: string): Promise<void> {
    this.sockets.get(instance)?.socket.close(1000, "bye");
    this.sockets.delete(instance);
    await until(`the object hears that the socket of ${instance} closed`, async () => {
      const answer = await this.world.get(`/api/workers/${instance}`);
      return answer.status === 404 || answer.body.connected === false;
    });
  }

  /** Sends a message over a socket; returns 200 or the problem's status. */
  async say(socket: Socket, message: Record<string, unknown>): Promise<Answer["body"]> {
    this.#messages += 1;
    const id = `m${this.#messages}`;
    socket.send({ ...message, id });
    const ack = await within(
      `the ack of ${JSON.stringify(message)}`,
      socket.next((one) => one.type === "ack" && one.id === id),
    );
    return { ...ack, status: ack.ok ? 200 : ack.problem.status };
  }

  /** A worker with a socket is told that a lease of its has ended. */
  async isToldToDrop(instance: string, id: string, lease: number): Promise<void> {
    const socket = this.sockets.get(instance);
    if (socket === undefined) return;
    const told = socket.next((one) => one.type === "job.halted" && one.job_id === id && one.lease === lease);
    await within(`${instance} is told to drop lease ${lease} of job ${id}`, told);
  }

  async look(ids: readonly string[]): Promise<View> {
    const nowAt = Date.now();
    const [jobs, listed, present, killswitch, metrics] = await Promise.all([
      Promise.all(ids.map((id) => this.world.ok("GET", `/api/jobs/${id}`) as Promise<JobResource>)),
      this.world.ok("GET", "/api/workers"),
      this.world.ok("GET", "/presence"),
      this.world.ok("GET", "/killswitch"),
      this.world.get("/metrics"),
    ]);
    const instances = (present.workers as WorkerResource[]).map(({ instance }) => instance);
    return { nowAt, jobs, workers: listed.workers, present: instances, killswitch, metrics: metrics.text };
  }

  async evict(areSocketsKept: boolean): Promise<void> {
    // A sleeping object cannot be evicted, so it is woken without a turn.
    await this.#inObject(() => null);
    await evictDurableObject(this.stub, areSocketsKept ? {} : { webSockets: "close" });
    if (!areSocketsKept) await this.#socketsGone();
  }

  /** As if the process died: nobody is told. */
  async abort(): Promise<void> {
    await abortAllDurableObjects();
    await this.#socketsGone();
  }

  async #socketsGone(): Promise<void> {
    for (const [instance, { closed }] of this.sockets) await within(`the end of the socket of ${instance}`, closed);
    this.sockets.clear();
  }

  /** Time passes while the object sleeps. The alarm comes nearer, is held where it is, or is lost. */
  async age(ms: number, alarm: "nearer" | "held" | "lost"): Promise<void> {
    // No alarm may find the later rows with the earlier memory.
    const armedAt = await this.#inObject((state) => moveBack(state, ms));
    await this.evict(true);
    if (armedAt === null || alarm === "lost") return;
    await this.#inObject(({ storage }) => storage.setAlarm(alarm === "held" ? armedAt : armedAt - ms));
    await this.evict(true);
  }

  #inObject<T>(work: (state: DurableObjectState) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.stub, (_object: Tenant, state: DurableObjectState) => work(state));
  }

  /** Runs the alarm now, if one is set. */
  runAlarm(): Promise<boolean> {
    return runDurableObjectAlarm(this.stub);
  }

  /** What is due by this instant is done: by the platform's alarm, or by one that the test fires. */
  async sweptBy(nowAt: number, isByHand: boolean): Promise<void> {
    await until(`what was due at ${nowAt} is done`, async () => {
      if (isByHand) await this.runAlarm();
      const { dueAt } = await this.timetable();
      return dueAt === null || dueAt > nowAt;
    });
  }

  finalRows(): Promise<number> {
    const query = "SELECT COUNT(*) AS count FROM jobs WHERE status IN ('completed', 'failed', 'cancelled')";
    return this.#inObject(({ storage }) => Number(storage.sql.exec(query).one().count));
  }

  /** When the next thing is due, and when the alarm comes. */
  timetable(): Promise<{ dueAt: number | null; armedAt: number | null; outbox: number }> {
    return this.#inObject(async ({ storage }) => ({
      dueAt: storage.sql.exec<{ at: number | null }>(DUE).one().at,
      outbox: storage.sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM outbox").one().count,
      armedAt: await storage.getAlarm(),
    }));
  }
}

/** Removes the alarm, and returns its time. */
const takeAlarm = async (storage: DurableObjectStorage): Promise<number> => {
  const armedAt = await storage.getAlarm();
  await storage.deleteAlarm();
  return armedAt ?? Number.POSITIVE_INFINITY;
};

const moveBack = async (state: DurableObjectState, ms: number): Promise<number | null> => {
  const { storage } = state;
  const { sql } = storage;
  const firstAt = await takeAlarm(storage);
  await scheduler.wait(HANDLER_MS);
  const armedAt = Math.min(firstAt, await takeAlarm(storage));
  for (const table of ["jobs", "workers"] as const) {
    const key = table === "jobs" ? "id" : "instance";
    for (const row of sql.exec(`SELECT ${key} AS key, record FROM ${table}`).toArray()) {
      const record = JSON.stringify(earlier(JSON.parse(row.record as string), ms));
      sql.exec(`UPDATE ${table} SET record = ? WHERE ${key} = ?`, record, row.key);
    }
  }
  sql.exec("UPDATE jobs SET due_at = due_at - ?1, order_key = order_key - ?1", ms);
  sql.exec("UPDATE backoffs SET until_at = until_at - ?", ms);
  for (const { seq, jobs } of sql.exec("SELECT seq, jobs FROM outbox WHERE jobs IS NOT NULL").toArray()) {
    sql.exec("UPDATE outbox SET jobs = ? WHERE seq = ?", JSON.stringify(earlier(JSON.parse(jobs as string), ms)), seq);
  }
  sql.exec("UPDATE outbox SET at = at - ?", ms);
  for (const socket of state.getWebSockets()) {
    const attachment = socket.deserializeAttachment() as { connectedAt: number };
    socket.serializeAttachment({ ...attachment, connectedAt: attachment.connectedAt - ms });
  }
  return Number.isFinite(armedAt) ? armedAt : null;
};

/** Every instant in a stored record, by its name. */
const earlier = (value: unknown, ms: number): unknown => {
  if (Array.isArray(value)) return value.map((one) => earlier(one, ms));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isInstant = typeof inner === "number" && (name === "at" || name.endsWith("At") || name === "orderKey");
      return [name, isInstant ? (inner as number) - ms : earlier(inner, ms)];
    }),
  );
};

const within = async <T>(what: string, promise: Promise<T>): Promise<T> => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Contradiction(`never came: ${what}`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    if (timer !== undefined) clearTimeout(timer);
  }
};

export const until = async (what: string, isTrue: () => Promise<boolean>): Promise<void> => {
  const startedAt = Date.now();
  while (!(await isTrue())) {
    if (Date.now() - startedAt > PATIENCE_MS) throw new Contradiction(`never came true: ${what}`);
    await scheduler.wait(LOOK_AGAIN_MS);
  }
};

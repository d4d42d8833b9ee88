// What a turn costs where there are many workers and many waiting groups, counted in what it looks at.

import { expect, test, vi } from "vitest";
import { configDocument } from "../../../contract/config/config.ts";
import { workerListQuery } from "../../../contract/fleet/worker.ts";
import { UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import type { NewJob } from "../../../domain/job/new-job.ts";
import { replaceConfig } from "../../../durable-objects/operations/config.ts";
import { complete } from "../../../durable-objects/operations/fleet/final-report.ts";
import { type PlacesPart, readPlaces } from "../../../durable-objects/operations/fleet/place-model.ts";
import { report } from "../../../durable-objects/operations/fleet/presence.ts";
import { listPresent, listWorkers } from "../../../durable-objects/operations/fleet/workers.ts";
import { createOne, dispatch } from "../../../durable-objects/operations/jobs/jobs.ts";
import { assignWaiting } from "../../../durable-objects/placing/assign-waiting.ts";
import type { Memory } from "../../../durable-objects/turn/memory/memory.ts";
import { OutboxWriter } from "../../../durable-objects/turn/outbox-writer.ts";
import type { Turn } from "../../../durable-objects/turn/turn.ts";
import { newJob } from "../../support/new-job.ts";
import { presence } from "../../support/presence.ts";
import { bareTurns } from "../../support/workerd/bare-turns.ts";

const NOW = 1_000_000;
const MANY = 1_000;
const SHOWN = 200;

interface Tenant {
  readonly memory: Memory;
  /** A turn of its own, with the queue given out at its end. */
  readonly act: <T>(verb: (turn: Turn) => T) => T;
}

const inTenant = (name: string, use: (tenant: Tenant) => void): Promise<void> =>
  bareTurns(name, NOW, ({ store, memory, turnAt }) =>
    use({
      memory: memory(),
      act: (verb) => {
        const outbox = new OutboxWriter(memory());
        const turn = turnAt(NOW, outbox);
        const done = verb(turn);
        assignWaiting(turn);
        for (const row of outbox.rows) store.outbox.put(row);
        return done;
      },
    }),
  );

const configure = ({ act }: Tenant, document: object) =>
  act((turn) => replaceConfig(turn, { document: configDocument.parse(document), etag: "e", ifMatch: null }));

test("a reached budget costs nothing a worker: a heartbeat looks at none, and a refused dispatch at those it shows", () =>
  inTenant("many-workers-budget", (tenant) => {
    const { act, memory } = tenant;
    for (let at = 0; at < MANY; at += 1)
      act((turn) => report(turn, presence({ instance: `w${at}`, provider: at % 2 === 0 ? "openai" : "ollama" })));
    configure(tenant, { budget: { day_usd: 1 }, providers: { openai: { budget: { day_usd: 1 } } } });
    memory.spending.add({ dayAt: 0, provider: "openai", nanoUsd: 2e9 });
    act((turn) => createOne(turn, { job: newJob({ tags: ["gpu"] }), idempotency: null }));
    const lists = vi.spyOn(memory.fleet, "members");
    const looks = vi.spyOn(memory.fleet, "at");
    const sums = vi.spyOn(memory.spending, "of");
    const refusalOf = (asked: Partial<NewJob>) =>
      act((turn) => dispatch(turn, { job: newJob(asked), mayQueue: false, idempotency: null }));
    act((turn) => report(turn, presence({ instance: "w7", provider: "ollama" })));
    expect(refusalOf({ provider: "openai" })).toMatchObject({ ok: false, error: { code: "budget_reached" } });
    expect(looks).not.toHaveBeenCalled();
    const refused = refusalOf({ provider: "ollama", tags: ["gpu"] });
    const isForWorkers = !refused.ok && refused.error.code === "no_eligible_workers";
    expect(isForWorkers ? refused.error.workers : []).toHaveLength(SHOWN);
    expect(looks).toHaveBeenCalledTimes(SHOWN);
    expect(lists).not.toHaveBeenCalled();
    expect(sums.mock.calls.length).toBeLessThan(100);
  }));

test("a place that gets free at a provider's limit is offered to that provider's workers, and no other group is looked at", () =>
  inTenant("many-groups-limit", (tenant) => {
    const { act, memory } = tenant;
    configure(tenant, { providers: { p: { rate_limit: { max_concurrent: 1 } } } });
    for (const instance of ["one", "two"]) act((turn) => report(turn, presence({ instance })));
    for (let at = 0; at < MANY; at += 1)
      act((turn) => createOne(turn, { job: newJob({ tags: [`t${at}`] }), idempotency: null }));
    const ids = [0, 1].map(() => act((turn) => createOne(turn, { job: newJob(), idempotency: null })));
    const [first, second] = ids.map((made) => (made.ok ? made.value.id : ""));
    expect([memory.queue.groups.size, memory.fleet.providerLoad("p")]).toEqual([MANY + 1, 1]);
    const everyGroup = vi.spyOn(memory.queue.groups, "values");
    const asked = vi.spyOn(memory.queue, "groupsNear");
    const done = { lease: 1, result: 1, usage: null, costUsd: null, model: null };
    const turns = act((turn) => {
      complete(turn, { id: first ?? "", ...done });
      return turn;
    });
    expect(turns.store.jobs.find(second ?? "")).toMatchObject({ status: "assigned" });
    expect(everyGroup).not.toHaveBeenCalled();
    expect(asked.mock.results.flatMap(({ value }) => [...value]).length).toBeLessThan(5);
  }));

test("a page of large machines is read in portions, one a turn, and counts the fleet once", () =>
  inTenant("many-workers-large", ({ act, memory }) => {
    const onDisk = Array.from({ length: 400 }, (_, at) => ({ model: `m${at}`.padEnd(100, "x"), bytes: 1 }));
    const instances = Array.from({ length: 40 }, (_, at) => `w${at}`).sort();
    for (const instance of instances)
      act((turn) => report(turn, presence({ instance, machine: { ...UNKNOWN_MACHINE, onDisk } })));
    const everyWorker = vi.spyOn(memory.fleet, "members");
    const query = workerListQuery.parse({ limit: "200", sort: "instance" });
    const listed: string[] = [];
    for (let names: readonly string[] | undefined; names?.length !== 0; ) {
      const portion = act((turn) => listWorkers(turn, { ...query, ...(names && { names }) }));
      if (!portion.ok) throw new Error(portion.error.code);
      expect(JSON.stringify(portion.value).length).toBeLessThan(600_000);
      expect(portion.value.total).toBe(names === undefined ? instances.length : undefined);
      listed.push(...portion.value.rows.map(({ instance }) => instance));
      names = portion.value.rest;
    }
    expect(listed).toEqual(instances);
    expect(everyWorker).toHaveBeenCalledTimes(1);
  }));

test("what a place for a model asks of many small machines is read in parts, one a turn", () =>
  inTenant("many-workers-place", ({ act }) => {
    for (let at = 0; at < MANY; at += 1) act((turn) => report(turn, presence({ instance: `w${at}` })));
    const parts: number[] = [];
    const readFrom = (from: number): PlacesPart => {
      const part = act((turn) => readPlaces(turn, { model: "m", tags: [], from }));
      if (!part.ok) throw new Error("refused");
      return part.value;
    };
    for (let from: number | null = 0; from !== null; ) {
      const { facts, next }: PlacesPart = readFrom(from);
      parts.push(facts.length);
      from = next;
    }
    expect(parts).toEqual([500, 500]);
  }));

test("a page of the workers that are there looks at the rest only for whether they are", () =>
  inTenant("many-workers-present", ({ act, memory }) => {
    for (let at = 0; at < MANY; at += 1) act((turn) => report(turn, presence({ instance: `w${at}` })));
    const counts = act((turn) => {
      const signs = vi.spyOn(turn, "lastSocketSign");
      const listed = listPresent(turn, { limit: 10, offset: 0 });
      if (!listed.ok) throw new Error("refused");
      return [listed.value.workers.length, listed.value.total, signs.mock.calls.length];
    });
    expect(counts).toEqual([10, memory.fleet.size, 10]);
  }));

// A webhook is told of a worker that falls silent, each time, even if nothing else happens in the tenant.

import { expect, test } from "vitest";
import { report } from "../../durable-objects/operations/fleet/presence.ts";
import { forgetWorker } from "../../durable-objects/operations/fleet/workers.ts";
import { create } from "../../durable-objects/operations/webhooks.ts";
import { announceSilence, nextSilenceAt } from "../../durable-objects/steps/silence.ts";
import type { Turn } from "../../durable-objects/turn/turn.ts";
import { presence } from "../support/presence.ts";
import { bareTurns } from "../support/workerd/bare-turns.ts";

const START = 1_000_000;
const OFFLINE_AFTER_MS = 60_000;

const WEBHOOK = {
  id: "hook",
  secret: "",
  url: "https://hook.example",
  origin: "https://signalbox.example",
  tags: [],
  description: "",
};
const PRESENCE = presence({ instance: "w" });

type At = (ms: number, verb: (turn: Turn) => unknown) => Turn;

const inTenant = <T>(name: string, use: (at: At) => T): Promise<T> =>
  bareTurns(name, START, ({ turnAt }) =>
    use((ms, verb) => {
      const turn = turnAt(START + ms);
      verb(turn);
      return turn;
    }),
  );

const announced = (turn: Turn): unknown[] => turn.announcements.map(({ event }) => event);

test("a worker that falls silent, comes back and falls silent again is announced each time, and the alarm waits for it", async () => {
  const seen = await inTenant("silent-twice", (at) => {
    at(0, (turn) => create(turn, { ...WEBHOOK, events: ["worker.offline"] }));
    at(0, announceSilence);
    return [0, 100_000].map((ms) => {
      const heard = at(ms, (turn) => report(turn, PRESENCE));
      const silent = at(ms + OFFLINE_AFTER_MS + 1, announceSilence);
      const later = at(ms + OFFLINE_AFTER_MS + 2, announceSilence);
      return { wakesIn: heard.wakeAt - heard.nowAt, first: announced(silent), again: announced(later) };
    });
  });
  const once = { wakesIn: OFFLINE_AFTER_MS + 1, first: ["worker.offline"], again: [] };
  expect(seen).toEqual([once, once]);
});

test("a worker that is forgotten leaves nothing behind", async () => {
  const left = await inTenant("silent-forgotten", (at) => {
    at(0, (turn) => create(turn, { ...WEBHOOK, events: ["worker.offline"] }));
    at(0, (turn) => report(turn, PRESENCE));
    const silent = at(90_000, announceSilence).store.silentWorkers.all().size;
    const forgotten = at(95_000, (turn) => forgetWorker(turn, { instance: "w" }));
    return [silent, forgotten.store.silentWorkers.all().size];
  });
  expect(left).toEqual([1, 0]);
});

test("a worker that was offline before a webhook asked for that is not announced, though another webhook existed", async () => {
  const seen = await inTenant("silent-before", (at) => {
    at(0, (turn) => create(turn, { ...WEBHOOK, events: ["job.completed"] }));
    at(0, (turn) => report(turn, PRESENCE));
    const asked = at(90_000, (turn) => create(turn, { ...WEBHOOK, id: "second", events: ["worker.offline"] }));
    return { dueAt: nextSilenceAt(asked), announced: announced(at(90_000, announceSilence)) };
  });
  expect(seen).toEqual({ dueAt: START + 90_000, announced: [] });
});

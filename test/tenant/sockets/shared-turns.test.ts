// The messages of one frame share turns: each has its own answer, and one that throws fails alone.

import { expect, test } from "vitest";
import type { CoordinatorMessage } from "../../../contract/socket.ts";
import type { TurnRunner } from "../../../durable-objects/calls/turn-runner.ts";
import type { Live } from "../../../durable-objects/sockets/live.ts";
import { SocketIntake } from "../../../durable-objects/sockets/socket-intake.ts";
import { Sockets } from "../../../durable-objects/sockets/sockets.ts";
import type { TenantSocket } from "../../../durable-objects/sockets/tenant-socket.ts";
import type { Store } from "../../../durable-objects/store/open.ts";
import { completedJob } from "../../domain/job/sample-jobs.ts";

const KEY = { id: "key", name: "key", role: "admin", hash: "h", previousHash: null, revokedAt: null, personId: null };
const BROKEN = new Error("its row cannot be read");

/** An object whose jobs have all ended: a report of a start is refused, and that of job `broken` throws. */
function intakeOfEndedJobs() {
  const acks: CoordinatorMessage[] = [];
  const turnSizes: number[] = [];
  let handled = 0;
  const find = (id: string) => {
    if (id === "broken") throw BROKEN;
    handled += 1;
    return { ...completedJob(), id };
  };
  const turn = { nowAt: 0, caller: KEY, store: { jobs: { find } } };
  // As the turns' queue does, a turn that throws leaves nothing behind.
  const turns = {
    run: async (work: () => unknown) => {
      const [before, told] = [handled, acks.length];
      try {
        const done = work();
        turnSizes.push(handled - before);
        return done;
      } catch (error) {
        acks.length = told;
        throw error;
      }
    },
    inTurn: (_caller: unknown, verb: (turn: unknown) => unknown) => verb(turn),
    afterCommit: (effect: () => void) => effect(),
  } as unknown as TurnRunner;
  const attachment = { kind: "worker", instance: "w", keyId: KEY.id, openedWith: KEY.hash, sessionId: null };
  const socket = { isOpen: true, attachment, send: () => {} } as unknown as TenantSocket;
  const sockets = new Sockets([{ size: 1, all: () => [socket] }]);
  sockets.queue = (_to, message) => void acks.push(message);
  const store = { keys: { find: () => ({ ...KEY, lastUsedAt: Date.now() }) } } as unknown as Store;
  const database = () => ({}) as D1Database;
  const intake = new SocketIntake({ tenant: "t", database, store, sockets, live: {} as Live, turns });
  const hear = (jobs: readonly string[]) => {
    const messages = jobs.map((job_id, index) => ({ type: "job.started", id: `m${index}`, job_id, lease: 9 }));
    return intake.hear(socket, JSON.stringify(messages));
  };
  return { hear, turnSizes, ids: () => acks.map((ack) => (ack.type === "ack" ? ack.id : "")) };
}

test("a frame is handled in few turns, and each of its messages is answered, in order", async () => {
  const { hear, turnSizes, ids } = intakeOfEndedJobs();
  const jobs = Array.from({ length: 130 }, (_, index) => `job-${index}`);
  await hear(jobs);
  expect(turnSizes).toEqual([64, 64, 2]);
  expect(ids()).toEqual(jobs.map((_, index) => `m${index}`));
});

test("a message that throws fails alone: the others of its frame are answered", async () => {
  const { hear, turnSizes, ids } = intakeOfEndedJobs();
  await expect(hear(["one", "broken", "three"])).rejects.toBe(BROKEN);
  expect(ids()).toEqual(["m0", "m2"]);
  expect(turnSizes).toEqual([1, 1]);
});

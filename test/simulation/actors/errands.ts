// Several steps in a row that chance alone brings together too rarely.

import { DRAIN_DELAY_MS } from "../../../durable-objects/store/outbox.ts";
import type { StepKind } from "../plan.ts";
import type { Action, World } from "../world.ts";
import { CLIENT_ACTIONS } from "./clients.ts";
import { complete, fail, readInbox, reportPresence, start } from "./workers.ts";

const NEWEST = 0.99;
const JUST_ENDED = 0.95;

const done = async ({ shell }: World, call: unknown): Promise<void> => {
  void call;
  await shell.settle();
  // What is written now may be in history, and gone from here, when the errand ends.
  shell.atRest();
};

/** A job ends before it is in any table; once history has it, a command continues it. */
const endAndComeBack: Action = async (world, [which, ...rest]) => {
  const [how, command, tags, priority] = rest;
  await done(world, CLIENT_ACTIONS.create(world, [which, 0, 0, priority, NEWEST]));
  for (const one of world.workers) {
    await done(world, reportPresence(world, one, [0, 1, 0, 0, 0]));
    readInbox(world, one);
  }
  const worker = world.workers.find(({ held }) => [...held.values()].some(({ isStarted }) => !isStarted));
  if (worker === undefined) return;
  await done(world, start(world, worker, [0, NEWEST, 0, 0, 0]));
  await done(world, (how < 0.5 ? complete : fail)(world, worker, [0, NEWEST, how, 0, 0]));
  await world.shell.advance(DRAIN_DELAY_MS);
  const act = command < 0.5 ? CLIENT_ACTIONS.patch : CLIENT_ACTIONS.retry;
  await done(world, act(world, [JUST_ENDED, tags, priority, 0, 0]));
};

export const ERRANDS = { "end a job and come back": endAndComeBack } satisfies Partial<Record<StepKind, Action>>;

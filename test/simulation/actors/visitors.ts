// Viewers and late callers: sessions, waits for a job's end, followed catalogs.

import { isFinal } from "../../../domain/words/job-status.ts";
import type { Credential } from "../../../durable-objects/steps/holders.ts";
import type { StepKind } from "../plan.ts";
import { oneOf, pickOf } from "../platform/random.ts";
import { type Action, keyOf, type World } from "../world.ts";

/** A session ends with the secret that opened it, however that ends. */
const signIn: Action = async (world, [how]) => {
  const { admin, shell } = world;
  const key = keyOf(world.fresh("viewer-key"));
  const made = await shell.call(admin, "createKey", { id: key.id, hash: key.hash, name: key.id, role: "standard" });
  if (!made?.ok) return;
  const session: Credential = { kind: "session", id: world.fresh("session"), hash: "hash of a cookie" };
  const opened = await shell.call(key, "createSession", { id: session.id, hash: session.hash, isOffHere: false });
  if (!opened?.ok) return;
  const looked = await shell.call(session, "readKillswitch", null);
  if (looked !== null && !looked.ok) world.model.violate(`session ${session.id} was opened, and is refused`);
  if (!(await end(world, key, session, how))) return;
  const after = await shell.call(session, "readKillswitch", null);
  if (after?.ok) world.model.violate(`session ${session.id} outlives the secret that opened it`);
};

const end = async ({ admin, shell }: World, key: Credential, session: Credential, how: number) => {
  if (how < 0.4) return (await shell.call(admin, "revokeKey", { id: key.id }))?.ok ?? false;
  if (how < 0.7) {
    const rotated = await shell.call(admin, "rotateKey", { id: key.id, hash: `hash of another ${key.id}`, graceMs: 0 });
    return rotated?.ok ?? false;
  }
  return (await shell.call(session, "endSession", { id: session.id }))?.ok ?? false;
};

/** The answer comes when the job is final or the time is over, not before. */
const waitForEnd: Action = async (world, [which, wait]) => {
  const { clock } = world.shell;
  const id = pickOf([...world.model.accepted.keys()].slice(-12), which);
  if (id === undefined) return;
  const waitMs = Math.ceil(wait * 25_000);
  const askedAt = clock.nowAt;
  const tenant = await world.shell.tenant();
  const waited = await tenant.waitForJob(world.admin, id, waitMs).catch(() => null);
  const toldAt = clock.nowAt;
  const answer = waited?.ok ? await world.shell.call(world.admin, "getJob", { id }) : null;
  if (!answer?.ok || isFinal(answer.value.status) || clock.setBackFromAt >= askedAt) return;
  // It ended, and was pending again before the answer was written.
  if (world.model.retried.has(id)) return;
  if (toldAt - askedAt < waitMs)
    world.model.violate(`who waits for job ${id} is told that it is ${answer.value.status} before the time is over`);
};

const PRICE_OF_M = { input_nano_per_mtok: 3_000_000_000, output_nano_per_mtok: 15_000_000_000 };

/** Names that every object has are models like others. */
const followCatalog: Action = async (world, [provider, list]) => {
  const names = oneOf([["m", "constructor"], ["m"], ["__proto__", "m", "toString"], null], list);
  const models = names === null ? null : names.map((id) => (id === "m" ? { id, price: PRICE_OF_M } : { id }));
  const tenant = await world.shell.tenant();
  await tenant.learnCatalog({ provider: provider < 0.5 ? "p" : "q", models }).catch(() => null);
};

export const VISITOR_ACTIONS = {
  "sign in": signIn,
  "wait for a job's end": waitForEnd,
  "follow a catalog": followCatalog,
} satisfies Partial<Record<StepKind, Action>>;

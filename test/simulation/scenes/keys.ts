// How long keys, sessions and what was asked with them are good for, to the millisecond.

import assert from "node:assert/strict";
import { NO_SIGN_IN } from "../../../contract/access/sign-in.ts";
import type { KeyLimits } from "../../../domain/access/key-limits.ts";
import type { PersonRole } from "../../../domain/access/role-rules.ts";
import type { Credential } from "../../../durable-objects/steps/holders.ts";
import { keyOf } from "../world.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, ANSWERS, asking, complete, configure, create, present, read, started } from "./scene-steps.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const NO_LIMITS: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrent: null,
  dayNanoUsd: null,
  monthNanoUsd: null,
  maxWaiting: null,
  perUser: null,
  models: null,
  edge: null,
};

/** A key of a client. */
const withLimits = async (scene: Scene, limits: Partial<KeyLimits>) => {
  const key = keyOf("limited");
  const all = { ...NO_LIMITS, ...limits };
  await scene.done(scene.admin, "createKey", { ...key, name: "limited", role: "client", limits: all });
};

/** Asks as the limited client; why it was refused, or null. */
const asks = async (scene: Scene, id: string, more: Record<string, unknown> = {}) => {
  const answer = await scene.ask(keyOf("limited"), "ask", asking(id, more));
  return answer.ok ? null : answer.error;
};

/** A person who has signed in, and whose group gives a role: of `all` there is one, of others none. */
const signIn = async (scene: Scene, role: PersonRole = "viewer", group = "all"): Promise<Credential> => {
  const session = { id: "session", hash: "hash of a cookie" };
  await scene.tell((tenant) =>
    tenant.admit("admitPerson", {
      issuer: "https://idp.example",
      subject: "ada",
      claims: { groups: [group] },
      session,
      isTest: false,
      deployment: { ...NO_SIGN_IN, roles: [{ claim: "groups", has: "all", role }] },
    }),
  );
  return { kind: "session", ...session };
};

/** Whether the program got its key. */
const redeem = async (scene: Scene, grantId: string, challenge: string): Promise<boolean> => {
  const key = { id: `key-of-${grantId}`, hash: `hash of ${grantId}`, role: "viewer" as const };
  const answer = await scene.tell((tenant) => tenant.admit("redeemKey", { grantId, challenge, key }));
  return answer.ok && answer.value !== null;
};

export const SCENES_OF_KEYS: readonly Shown[] = [
  {
    what: "a key that a person grants is fetched once, within a minute, and by the program that asked alone",
    shown: async (scene) => {
      const person = await signIn(scene);
      const grant = (id: string) => scene.done(person, "grantKey", { id, challenge: "digest", name: "laptop" });
      await grant("one");
      assert.equal(await redeem(scene, "one", "digest"), true);
      assert.equal(await redeem(scene, "one", "digest"), false);
      await grant("two");
      assert.equal(await redeem(scene, "two", "another"), false);
      assert.equal(await redeem(scene, "two", "digest"), false);
      await grant("three");
      scene.holdAlarm(true);
      await scene.pass(MINUTE_MS);
      assert.equal(await redeem(scene, "three", "digest"), false);
    },
  },
  {
    what: "a worker whose key was revoked is given nothing, also after a sleep, until it reports or claims with another",
    shown: async (scene) => {
      const [old, other] = [keyOf("worker-key-0"), keyOf("worker-key-1")];
      await present(scene, { concurrency: 2 }, old);
      await scene.done(scene.admin, "revokeKey", { id: old.id });
      const { id } = await create(scene);
      scene.sleep();
      assert.equal((await read(scene, id)).waiting_reason, 'worker "w" is disconnected: its key has ended');
      const asked = { id, provider: null, model: null, tags: [], tier: null, urgency: "normal" } as const;
      const [row] = (await scene.done(scene.admin, "explain", asked)).workers;
      assert.deepEqual(row?.reasons, ["disconnected: its key has ended"]);
      await present(scene, { concurrency: 2 }, other);
      assert.equal((await read(scene, id)).assigned_worker, "w");
      await scene.done(scene.admin, "revokeKey", { id: other.id });
      const { jobs } = await scene.done(scene.admin, "claim", { instance: "w", max: 1, isWaiting: false });
      assert.deepEqual(
        jobs.map((job) => job.id),
        [id],
      );
      const next = await create(scene);
      assert.equal((await read(scene, next.id)).assigned_worker, "w");
    },
  },
  {
    what: "a person who becomes a viewer, or has no role, has no worker, by a key or a session, also after a sleep",
    shown: async (scene) => {
      for (const [role, group] of [
        ["viewer", "all"],
        ["standard", "none"],
      ] as const) {
        const person = await signIn(scene, "standard");
        const own = keyOf(`of-ada-${role}`);
        await scene.done(person, "createKey", { ...own, name: "laptop", role: "standard", limits: null });
        await present(scene, { instance: `by-key-${role}`, concurrency: 9 }, own);
        await present(scene, { instance: "by-session", concurrency: 9 }, person);
        await signIn(scene, role, group);
        for (const again of [() => undefined, () => scene.sleep()]) {
          again();
          const { id } = await create(scene);
          assert.equal((await read(scene, id)).assigned_worker, null);
          await scene.done(scene.admin, "cancelJob", { id });
        }
      }
    },
  },
  {
    what: "a front-door job leaves a worker 5 s after its key was revoked",
    shown: async (scene) => {
      const own = keyOf("worker-key-0");
      await present(scene, ANSWERS, own);
      await withLimits(scene, {});
      assert.equal(await asks(scene, "a"), null);
      assert.equal((await read(scene, "a")).assigned_worker, "w");
      await scene.done(scene.admin, "revokeKey", { id: own.id });
      await scene.pass(5_000 - 1);
      assert.equal((await read(scene, "a")).assigned_worker, "w");
      await scene.pass(1);
      assert.equal((await read(scene, "a")).assigned_worker, null);
    },
  },
  {
    what: "a session lasts twelve hours from the sign-in",
    shown: async (scene) => {
      const session = { kind: "session", id: "s", hash: "of a cookie" } as const;
      await scene.done(scene.admin, "createSession", { id: session.id, hash: session.hash, isOffHere: false });
      const endsAt = new Date(scene.nowAt + 12 * HOUR_MS).toISOString();
      assert.equal((await scene.done(session, "readSession", { id: session.id })).expires_at, endsAt);
      assert.equal((await scene.done(scene.admin, "readSession", { id: null })).expires_at, null);
      await scene.pass(12 * HOUR_MS - 1);
      assert.ok((await scene.ask(session, "readKillswitch", null)).ok);
      scene.holdAlarm(true);
      await scene.pass(1);
      assert.ok(!(await scene.ask(session, "readKillswitch", null)).ok);
    },
  },
  {
    what: "a key's last use is written down once a minute",
    shown: async (scene) => {
      const lastUsedAt = () =>
        JSON.parse(scene.rows("SELECT record FROM keys WHERE id = 'admin'")[0]?.record as string).lastUsedAt;
      await scene.done(scene.admin, "readKillswitch", null);
      const firstAt = lastUsedAt();
      await scene.pass(MINUTE_MS - 1);
      await scene.done(scene.admin, "readKillswitch", null);
      assert.equal(lastUsedAt(), firstAt);
      await scene.pass(1);
      await scene.done(scene.admin, "readKillswitch", null);
      assert.equal(lastUsedAt(), firstAt + MINUTE_MS);
    },
  },
  {
    what: "a key's minute begins with its first request, and the next with the first after it",
    shown: async (scene) => {
      await present(scene, { ...ANSWERS, concurrency: 0 });
      await withLimits(scene, { requestsPerMinute: 2 });
      assert.equal(await asks(scene, "a"), null);
      await scene.pass(1_001);
      assert.equal(await asks(scene, "b"), null);
      assert.deepEqual(await asks(scene, "c"), {
        code: "rate_limit_exceeded",
        detail: "this key may make 2 requests a minute",
        retryAfterSeconds: 59,
        requestsPerMinute: 2,
        tokensPerMinute: null,
      });
      await scene.pass(MINUTE_MS - 1_001 - 1);
      assert.equal((await asks(scene, "d"))?.code, "rate_limit_exceeded");
      await scene.pass(1);
      assert.equal(await asks(scene, "e"), null);
    },
  },
  {
    what: "a key has as many open jobs as it may have, and is told to try again in a second",
    shown: async (scene) => {
      await present(scene, { ...ANSWERS, concurrency: 0 });
      await withLimits(scene, { concurrent: 1 });
      assert.equal(await asks(scene, "a"), null);
      const refused = await asks(scene, "b");
      assert.ok(refused?.code === "rate_limit_exceeded");
      assert.equal(refused.retryAfterSeconds, 1);
    },
  },
  {
    what: "an idempotency key is good for a day",
    shown: async (scene) => {
      const { id } = await create(scene, {}, "k");
      await scene.pass(24 * HOUR_MS - 1);
      assert.equal((await create(scene, {}, "k")).id, id);
      await scene.pass(1);
      assert.notEqual((await create(scene, {}, "k")).id, id);
    },
  },
  {
    what: "a key may spend up to its limit, and not once it has spent that much",
    shown: async (scene) => {
      await present(scene, ANSWERS);
      await withLimits(scene, { dayNanoUsd: 2_000_000_000 });
      for (const [id, isLast] of [
        ["a", false],
        ["b", true],
      ] as const) {
        assert.equal(await asks(scene, id), null);
        const { lease } = await read(scene, id);
        await scene.done(scene.admin, "startJob", { id, lease });
        await complete(scene, { id, lease }, 1);
        assert.equal((await asks(scene, `after-${id}`))?.code, isLast ? "insufficient_quota" : undefined);
        if (!isLast) await scene.done(scene.admin, "cancelJob", { id: `after-${id}` });
      }
    },
  },
  {
    what: "a key that may use some models is told which one it asked for",
    shown: async (scene) => {
      await present(scene, { ...ANSWERS, models: ["m", "other"] });
      await withLimits(scene, { models: ["other"] });
      const refused = await asks(scene, "a");
      assert.ok(refused?.code === "forbidden");
      assert.equal(refused.detail, 'this key does not allow model "m"; it allows other');
      assert.equal(await asks(scene, "b", { model: "other" }), null);
    },
  },
  {
    what: "the audit says for how many seconds a rotated key's old secret stays valid, and it does",
    shown: async (scene) => {
      const old = keyOf("rotating");
      await scene.done(scene.admin, "createKey", { ...old, name: "rotating", role: "standard" });
      await scene.done(scene.admin, "rotateKey", { id: old.id, hash: "of another", graceMs: 90_000 });
      await scene.pass(90_000 - 1);
      assert.ok((await scene.ask(old, "readKillswitch", null)).ok);
      scene.holdAlarm(true);
      await scene.pass(1);
      assert.ok(!(await scene.ask(old, "readKillswitch", null)).ok);
      assert.deepEqual(scene.audited("key.rotated"), [{ name: "rotating", grace_seconds: 90 }]);
    },
  },
  {
    what: "a socket of a secret that has ended, before anybody looked, ends with its worker's next word, which counts for nothing",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await scene.connect();
      await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"), true);
      const { id, lease } = await started(scene);
      await scene.done(scene.admin, "rotateKey", { id: "worker-key-0", hash: "of another", graceMs: 90_000 });
      scene.holdAlarm(true);
      await scene.pass(90_000);
      const isConnected = async () => (await scene.done(scene.admin, "getWorker", { instance: "worker-0" })).connected;
      assert.ok(await isConnected());
      await scene.say({ type: "job.completed", job_id: id, lease, result: "late" });
      assert.equal(await isConnected(), false);
      assert.equal((await read(scene, id)).status, "running");
    },
  },
  {
    what: "the audit says which limits a key has from now on, or that it has none",
    shown: async (scene) => {
      await withLimits(scene, { concurrent: 3 });
      await scene.done(scene.admin, "patchKey", { id: "limited", name: "renamed", limits: undefined });
      await scene.done(scene.admin, "patchKey", { id: "limited", name: null, limits: null });
      await scene.reachHistory();
      const [renamed, freed] = scene.audited("key.changed") as {
        name: string;
        limits: { concurrent: number } | null;
      }[];
      assert.deepEqual([renamed?.name, renamed?.limits?.concurrent], ["renamed", 3]);
      assert.deepEqual([freed?.name, freed?.limits], ["renamed", null]);
    },
  },
  {
    what: "an answer tells the state of the requests a minute to a key that has such a limit",
    shown: async (scene) => {
      await present(scene, { ...ANSWERS, concurrency: 0 });
      await withLimits(scene, { requestsPerMinute: 5 });
      const asked = await scene.done(keyOf("limited"), "ask", asking("a"));
      assert.deepEqual(asked.limits, { requests: { limit: 5, remaining: 4, resetMs: MINUTE_MS }, tokens: null });
      await scene.done(scene.admin, "patchKey", { id: "limited", name: null, limits: { ...NO_LIMITS, concurrent: 9 } });
      assert.equal((await scene.done(keyOf("limited"), "ask", asking("b"))).limits, null);
    },
  },
  {
    what: "what an attempt that was taken back had cost counts if its own worker's key tells, or an operator's",
    shown: async (scene) => {
      const own = keyOf("worker-key-0");
      await present(scene, { concurrency: 2 }, own);
      const spentUsd = async () => (await scene.done(scene.admin, "readBudgets", null)).budget.day_spent_usd;
      const [one, two] = [await started(scene), await started(scene)];
      for (const { id } of [one, two]) await scene.done(scene.admin, "cancelJob", { id });
      const late = (credential: Credential, { id, lease }: typeof one) =>
        scene.ask(credential, "completeJob", { id, lease, result: 1, usage: null, costUsd: 1, model: null });
      await late(keyOf("worker-key-1"), one);
      assert.equal(await spentUsd(), 0);
      await late(own, one);
      assert.equal(await spentUsd(), 1);
      await late(scene.admin, two);
      assert.equal(await spentUsd(), 2);
    },
  },
];

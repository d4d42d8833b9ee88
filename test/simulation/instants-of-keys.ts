// How long keys, sessions and what was asked with them are good for, to the millisecond.

import assert from "node:assert/strict";
import { toPresence } from "../../contract/worker.ts";
import type { KeyLimits } from "../../domain/key-limits.ts";
import type { Instant, Scene } from "./instant.ts";
import { newJob } from "./sample-job.ts";
import { keyOf } from "./world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const NO_LIMITS: KeyLimits = {
  requestsPerMinute: null,
  concurrent: null,
  dayNanoUsd: null,
  monthNanoUsd: null,
  models: null,
};

/** A key of a client; its requests wait, because the only worker has no place. */
const withLimits = async (scene: Scene, limits: Partial<KeyLimits>) => {
  const key = keyOf("limited");
  const offer = { instance: "w", provider: "p", tags: "", models: ["m"], apis: ["chat/completions" as const] };
  await scene.done(scene.admin, "reportPresence", { ...toPresence({ ...offer, concurrency: 0 }), viaSocket: false });
  await scene.done(scene.admin, "createKey", {
    ...key,
    name: "limited",
    role: "client",
    limits: { ...NO_LIMITS, ...limits },
  });
};

/** A request at the front door, as the limited client makes it. */
const asks = async (scene: Scene, id: string) => {
  const answer = await scene.ask(keyOf("limited"), "ask", {
    id,
    api: "chat/completions",
    stream: false,
    model: "m",
    prompt: id,
    input: {},
    session: null,
    headers: {},
    provider: null,
    tags: [],
    priority: "normal",
    tier: null,
    timeoutMs: null,
    queueMs: HOUR_MS,
    idempotency: null,
    traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
  });
  return answer.ok ? null : answer.error;
};

export const INSTANTS_OF_KEYS: readonly Instant[] = [
  {
    what: "a session lasts twelve hours from the sign-in",
    shown: async (scene) => {
      const session = { kind: "session", id: "s", hash: "of a cookie" } as const;
      await scene.done(scene.admin, "createSession", { id: session.id, hash: session.hash });
      await scene.pass(12 * HOUR_MS - 1);
      assert.ok((await scene.ask(session, "readKillswitch", null)).ok);
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
      await withLimits(scene, { requestsPerMinute: 2 });
      assert.equal(await asks(scene, "a"), null);
      await scene.pass(1_001);
      assert.equal(await asks(scene, "b"), null);
      assert.deepEqual(await asks(scene, "c"), {
        code: "rate_limit_exceeded",
        detail: "this key may make 2 requests a minute",
        retryAfterSeconds: 59,
        requestsPerMinute: 2,
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
      const create = () =>
        scene.done(scene.admin, "createJob", { job: newJob(), idempotency: { key: "k", bodyHash: "b" } });
      const { id } = await create();
      await scene.pass(24 * HOUR_MS - 1);
      assert.equal((await create()).id, id);
      await scene.pass(1);
      assert.notEqual((await create()).id, id);
    },
  },
];

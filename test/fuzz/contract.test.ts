// Contract fuzzing from the service's own OpenAPI document: every answer, to any caller and request, is one that the
// document promises. The seed is fixed; FUZZ_SEED and FUZZ_RUNS choose another seed and more requests.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyCase, type Case, resolver, toRequest, validCase } from "./cases.ts";
import { type Operation, operationsOf } from "./document.ts";
import type { Take } from "./lifecycles.ts";
import * as lifecycles from "./lifecycles.ts";
import { Broken, makePromises, mediaOf, refusalOf } from "./promises.ts";
import { send, type WireAnswer, type WireRequest } from "./wire.ts";
import { openWorld, parsed } from "./world.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 20261121);
const RUNS = Number(process.env.FUZZ_RUNS ?? 40);
const WALKS = Math.max(1, Math.round(RUNS / 6));
const WALK_STEPS = 40;
const SHOWN_CHARS = 400;
const REDIRECTED = 302;

const world = await openWorld(process.env.FUZZ_HOME === "workerd" ? "workerd" : "node");
const operations = operationsOf(world.document);
/**
 * Operations that wait for a worker's answer, need a worker's model, or stream: real clients in test/front-door test
 * them.
 */
const WAITS_FOR_WORKERS = /^(\w+ \/v1\/|GET \/api\/jobs\/\{id\}\/stream$)/;
/** A provider, or an identity provider who names a person: test/catalog and test/sign-in have them. */
const NEEDS_ANOTHER_SERVICE = [
  "DELETE /api/people/{id}/sessions",
  "GET /api/archive/{day}",
  "GET /auth/callback",
  "GET /auth/{tenant}/start",
  "POST /api/people/{id}/block",
  "POST /api/people/{id}/unblock",
  "POST /auth/grants",
  "POST /auth/key",
  "POST /catalog/subscriptions/{id}/sync",
];
const answeredAtOnce = operations.filter(({ name }) => !WAITS_FOR_WORKERS.test(name));
const resolve = resolver(world.document);
const docs = await world.call("none", "GET", "/docs");
const promises = makePromises(world.document, docs.text);
const answeredWell = new Set<string>();

afterAll(() => world.close());

const shown = ({ method, target, headers, body }: WireRequest, { status, text }: WireAnswer): string => {
  const { authorization: _secret, ...others } = headers ?? {};
  const sent = body == null ? "" : Buffer.from(body).toString("latin1").slice(0, SHOWN_CHARS);
  return `${method} ${target.slice(0, SHOWN_CHARS)}\n${JSON.stringify(others)}\n${sent}\n→ ${status} ${text.slice(0, SHOWN_CHARS)}`;
};

/** Sends a request and checks its answer against every promise that applies to all answers. */
const ask = async (operation: Operation, made: Case): Promise<WireAnswer> => {
  const request = toRequest(world, operation, made);
  const answer = await send(world.server.url, request);
  try {
    promises.requireCommon(answer, world.bearer(made.role)?.slice("Bearer ".length) ?? null, operation);
    promises.requireDocumented(operation, answer);
    requireOutcome(operation, made, answer);
  } catch (error) {
    throw new Broken(`${(error as Error).message}\nas ${made.role}: ${shown(request, answer)}`);
  }
  if (answer.status < 300 || answer.status === REDIRECTED) answeredWell.add(operation.name);
  world.learn(request.target, answer);
  return answer;
};

/** No matter who asks, the secret in the body decides. */
const TAKES_A_SECRET: ReadonlySet<string> = new Set(["/session", "/auth/key"]);

const WRONG = {
  "unknown field": 400,
  "repeated parameter": 400,
  "unknown parameter": 400,
  "not JSON": 400,
  media: 415,
};

/** What the request alone decides: callers without a key are refused in any case, and one known flaw has one answer. */
const requireOutcome = (operation: Operation, made: Case, answer: WireAnswer): void => {
  const { role, flaw, named } = made;
  const refusal = refusalOf(operation, role);
  // A cookie from another site's page is refused as such, before its owner is checked.
  const isForeignPage = role === "none" && made.headers.origin !== undefined;
  if (refusal !== null) {
    if (isForeignPage && answer.status === 403) return;
    if (!refusal.includes(answer.status)) throw new Broken(`"${role}" got ${answer.status}, not ${refusal.join("/")}`);
    return;
  }
  if (answer.status === 401 && !TAKES_A_SECRET.has(operation.path)) throw new Broken(`"${role}" was not let in`);
  if (flaw === "none" || flaw === "any") return;
  if (answer.status !== WRONG[flaw]) throw new Broken(`${flaw} got ${answer.status}, not ${WRONG[flaw]}`);
  if (flaw !== "unknown field" || named === null || mediaOf(answer) !== "application/problem+json") return;
  const { errors } = parsed<{ errors: { path: string }[] }>(answer);
  if (!errors.some(({ path }) => path === named.slice(0, 64)))
    throw new Broken(`the unknown field ${JSON.stringify(named)} is not named`);
};

const settings = { seed: SEED, numRuns: RUNS, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true };

/** Many times what they take alone: other tests run beside them. */
const WALKS_WITHIN_MS = 100_000;

describe(`whatever is asked (seed ${SEED})`, () => {
  beforeAll(() => world.restore());

  test.each(answeredAtOnce.map((operation) => [operation.name, operation] as const))(
    "%s keeps its word",
    async (...given) => {
      const operation = given[1];
      await world.restore();
      await fc.assert(
        fc.asyncProperty(anyCase(operation, resolve), async (made) => {
          await ask(operation, made);
          if (operation.path === "/killswitch") await world.call("admin", "DELETE", "/killswitch?resume_all=true");
        }),
        settings,
      );
    },
  );

  test(
    "a walk of valid requests keeps every promise on the way",
    async () => {
      const steps = answeredAtOnce.filter(({ isSocket }) => !isSocket);
      const step = fc.oneof(
        ...steps.map((operation) => {
          const roles = operation.access === "root" ? (["root"] as const) : (["admin"] as const);
          return validCase(operation, resolve, roles).map((made) => ({ name: operation.name, operation, made }));
        }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: WALK_STEPS, maxLength: WALK_STEPS }), async (walk) => {
          await world.restore();
          for (const { operation, made } of walk) await ask(operation, made);
        }),
        { ...settings, numRuns: WALKS, interruptAfterTimeLimit: WALKS_WITHIN_MS },
      );
    },
    2 * WALKS_WITHIN_MS,
  );
});

describe("a life from beginning to end", () => {
  beforeAll(() => world.restore());

  /** One step of a lifecycle: the operation by its name, with a real id, and the expected status. */
  const take: Take = async ({ operation: name, id, path, query = "", body, role = "admin", headers = {}, status }) => {
    const operation = operations.find((one) => one.name === name);
    if (operation === undefined) throw new Broken(`the document has no ${name}`);
    const made: Case = {
      role,
      flaw: "none",
      named: null,
      path: path ?? Object.fromEntries(operation.parameters.map((one) => [one.name, encodeURIComponent(id ?? "")])),
      query: [...new URLSearchParams(query)],
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      body: body === undefined ? null : JSON.stringify(body),
    };
    const answer = await ask(operation, made);
    expect(`${name} ${answer.status} ${answer.status === status ? "" : answer.text}`).toBe(`${name} ${status} `);
    return parsed(mediaOf(answer).endsWith("json") ? answer : { ...answer, text: "{}" });
  };

  test.each(Object.entries(lifecycles))("%s", (_, live) => live(take));
});

test("methods that a path does not take are 405 and name those that it takes", async () => {
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const taken = operations.filter((operation) => operation.path === path).map(({ method }) => method);
    for (const method of methods.filter((one) => !taken.includes(one))) {
      const target = path.replaceAll(/\{\w+\}/g, "any");
      // Another path may match: `/api/jobs/{id}` for `/api/jobs/batch`.
      const isTakenElsewhere = operations.some(
        (other) =>
          other.method === method && new RegExp(`^${other.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(target),
      );
      // A browser's preflight is answered at the front door.
      if (isTakenElsewhere || (method === "OPTIONS" && path.startsWith("/v1/"))) continue;
      const answer = await world.call("admin", method, target);
      expect([method, path, answer.status]).toEqual([method, path, 405]);
      // The front door refuses in its clients' formats.
      if (!path.startsWith("/v1/")) promises.requireCommon(answer, null);
      expect(String(answer.headers.allow).split(", ")).toEqual(expect.arrayContaining(taken));
    }
  }
});

test("HEAD answers as GET does, without the body", async () => {
  for (const { path, isSocket } of operations.filter(({ method }) => method === "GET")) {
    if (isSocket) continue;
    const target = path.replaceAll(/\{\w+\}/g, "any");
    const [head, get] = [await world.call("admin", "HEAD", target), await world.call("admin", "GET", target)];
    expect([path, head.status, head.text, head.headers["content-type"]]).toEqual([
      path,
      get.status,
      "",
      get.headers["content-type"],
    ]);
  }
});

test(`an unknown path is a 404 problem (seed ${SEED})`, async () => {
  const segment = fc.constantFrom(
    "api",
    "jobs",
    "x",
    "%00",
    "%ff",
    "%",
    "..%2f",
    "a".repeat(300),
    "%2e",
    ";",
    "~",
    "*",
  );
  const path = fc.array(segment, { minLength: 1, maxLength: 6 }).map((parts) => `/none/${parts.join("/")}`);
  const fixed = ["/api", "/api/", "/api/jobs/", "//api/jobs", "/API/JOBS", "/health/", "/openapi.json/", "/.env", "/%"];
  const anyPath = fc.oneof(path, fc.constantFrom(...fixed));
  await fc.assert(
    fc.asyncProperty(anyPath, fc.constantFrom("GET", "POST", "DELETE", "OPTIONS"), async (target, method) => {
      const answer = await world.call("admin", method, target);
      promises.requireCommon(answer, null);
      if (answer.status !== 404)
        throw new Broken(`${method} ${target} → ${answer.status} ${answer.text.slice(0, 200)}`);
    }),
    { ...settings, numRuns: RUNS * 2 },
  );
});

test("every operation was carried out at least once: the promises were not kept by refusals alone", () => {
  const never = answeredAtOnce
    .filter(({ name, isSocket }) => !isSocket && !answeredWell.has(name))
    .map(({ name }) => name);
  expect(never.sort()).toEqual([...NEEDS_ANOTHER_SERVICE].sort());
});

test("a body that is JSON but for its bytes is refused: nothing is stored that nobody sent", async () => {
  const create = operations.find(({ name }) => name === "POST /api/jobs");
  if (create === undefined) throw new Broken("the document has no POST /api/jobs");
  for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]]) {
    const body = Buffer.concat([Buffer.from('{"prompt":"a'), Uint8Array.from(bytes), Buffer.from('"}')]);
    const headers = { "content-type": "application/json" };
    const made: Case = { role: "admin", flaw: "not JSON", named: null, path: {}, query: [], headers, body };
    expect((await ask(create, made)).status).toBe(400);
  }
});

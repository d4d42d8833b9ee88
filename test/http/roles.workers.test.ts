// Every endpoint of the OpenAPI document, called with a key of every role: which may, and which get 403 in any case.

import { beforeAll, describe, expect, test } from "vitest";
import { ROLES, type Role } from "../../domain/access/key.ts";
import { Client, connect, newWorld, request, type World } from "../support/workerd/client.ts";
import { readDocument } from "../support/workerd/document.ts";

interface Operation {
  readonly name: string;
  readonly method: string;
  /** With made-up names in place of its parameters. */
  readonly path: string;
  /** The roles that may call, by the document; null if no tenant's key is needed or accepted. */
  readonly roles: readonly Role[] | null;
  readonly isRoot: boolean;
}

const SENTENCE = /Needs a key with role (.+)\.$/;

const operations: Operation[] = Object.entries((await readDocument()).paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, { description: string }>).map(([verb, { description }]) => ({
    name: `${verb.toUpperCase()} ${path}`,
    method: verb.toUpperCase(),
    path: path.replaceAll(/\{\w+\}/g, "made-up"),
    roles: (SENTENCE.exec(description)?.[1]?.split(/, or | or |, /) as Role[] | undefined) ?? null,
    isRoot: description.endsWith("Needs the operator's root key."),
  })),
);

let world: World;
const keys = new Map<Role, Client>();

beforeAll(async () => {
  world = await newWorld();
  for (const role of ROLES) keys.set(role, await world.withKey(role));
});

/** An empty body is invalid for every operation that would change much; sockets are requested without an upgrade. */
const statusFor = async (role: Role, { method, path }: Operation): Promise<number> => {
  const isBodiless = method === "GET" || method === "DELETE";
  return (await request(keys.get(role)?.key ?? null, method, path, isBodiless ? undefined : {})).status;
};

describe.each(ROLES)("a key with role %s", (role) => {
  const named = operations.filter(({ roles }) => roles !== null);

  test("is let in where the document says so, and nowhere else", async () => {
    const wrong: string[] = [];
    for (const operation of named) {
      const status = await statusFor(role, operation);
      const isLetIn = status !== 403 && status !== 401;
      if (isLetIn !== operation.roles?.includes(role)) wrong.push(`${operation.name}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  test("manages no tenants", async () => {
    for (const operation of operations.filter(({ isRoot }) => isRoot)) {
      expect(await statusFor(role, operation), operation.name).toBe(403);
    }
  });
});

test("every endpoint of a tenant needs a key", async () => {
  for (const { name, method, path, roles, isRoot } of operations) {
    if (roles === null && !isRoot) continue;
    const isBodiless = method === "GET" || method === "DELETE";
    expect((await request(null, method, path, isBodiless ? undefined : {})).status, name).toBe(401);
  }
});

describe("a viewer", () => {
  const mayOf = (role: Role): string[] =>
    operations.filter(({ roles }) => roles?.includes(role)).map(({ name }) => name);

  test("reads all that a standard key reads, and changes nothing", () => {
    const reads = mayOf("standard").filter((name) => name.startsWith("GET "));
    const ofWorkersAndClients = reads.filter((name) => !mayOf("viewer").includes(name));
    const others = mayOf("viewer").filter((name) => !name.startsWith("GET "));
    expect(ofWorkersAndClients.filter((name) => !/\/(connect|stream|input)$/.test(name))).toEqual([]);
    // Its own session, a preview, tools that check its key again, and a link that is refused for each file.
    expect(others.sort()).toEqual([
      "DELETE /session",
      "POST /api/files/{id}/link",
      "POST /api/schedules/preview",
      "POST /auth/grants",
      "POST /mcp",
    ]);
  });

  test("sees the metrics, the live view and the jobs of others", async () => {
    const viewer = new Client(keys.get("viewer")?.key ?? null);
    expect((await viewer.get("/metrics")).status).toBe(200);
    const job = await world.ok("POST", "/api/jobs", { prompt: "x" });
    expect((await viewer.get(`/api/jobs/${job.id}`)).body.id).toBe(job.id);
    expect((await viewer.post(`/api/jobs/${job.id}/cancel`)).status).toBe(403);
    const { socket } = await connect("/live", { authorization: `Bearer ${viewer.key}` });
    expect(await socket?.next((message) => message.type === "snapshot")).toBeDefined();
    socket?.socket.close();
  });

  test("may sign in to the dashboard", async () => {
    const signedIn = await request(null, "POST", "/session", { key: keys.get("viewer")?.key });
    expect(signedIn.status).toBeLessThan(300);
  });
});

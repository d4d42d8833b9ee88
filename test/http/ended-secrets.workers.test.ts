// After a rotation: a session and a socket end with the secret that opened them, and with no other.

import { describe, expect, it } from "vitest";
import {
  type Client,
  connect,
  connectWorker,
  newWorld,
  ORIGIN,
  ROOT_KEY,
  request,
  type World,
} from "../support/workerd/client.ts";

const signIn = async (key: string | null, headers: Record<string, string> = {}): Promise<string> => {
  const answer = await request(null, "POST", "/session", { key }, { headers: { origin: ORIGIN, ...headers } });
  if (answer.status !== 200) throw new Error(answer.text);
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
};

const see = async (cookie: string): Promise<number> =>
  (await request(null, "GET", "/api/jobs", undefined, { headers: { cookie } })).status;

const watch = async (headers: Record<string, string>) => {
  const { socket } = await connect("/live", { origin: ORIGIN, ...headers });
  if (socket === null) throw new Error("no socket");
  await socket.next((message) => message.type === "snapshot");
  return socket;
};

const isOpen = (socket: { readonly socket: WebSocket }): boolean => socket.socket.readyState === WebSocket.OPEN;

const rotate = (world: World, key: { keyId: string }, grace_seconds: number): Promise<{ key: string }> =>
  world.ok("POST", `/api/keys/${key.keyId}/rotate`, { grace_seconds });

const presence = (instance: string) => ({ instance, status: "idle", provider: "p", tags: "" });

describe("a reader that waits for a job", () => {
  it("hears that its key was revoked, while the others go on waiting", async () => {
    const world = await newWorld();
    const { id } = await world.ok("POST", "/api/jobs", { prompt: "x" });
    const key = await world.withKey("standard");
    const [revoked, other] = [key.get(`/api/jobs/${id}?wait=25`), world.get(`/api/jobs/${id}?wait=25`)];
    let isOtherTold = false;
    void other.then(() => {
      isOtherTold = true;
    });
    // The wait has begun once the object knows the key's use.
    await expect
      .poll(async () => {
        const { keys } = await world.ok("GET", "/api/keys");
        return keys.find((one: { id: string }) => one.id === key.keyId).last_used_at;
      })
      .not.toBe(null);
    await world.delete(`/api/keys/${key.keyId}`);
    expect((await revoked).status).toBe(401);
    expect(isOtherTold).toBe(false);
    await world.ok("POST", `/api/jobs/${id}/cancel`);
    expect((await other).body.status).toBe("cancelled");
  });
});

describe("a claim that waits for a job", () => {
  it.each([
    ["revoked", (world: World, { keyId }: { keyId: string }) => world.delete(`/api/keys/${keyId}`)],
    ["rotated", (world: World, key: { keyId: string }) => rotate(world, key, 0)],
  ])("hears at once that its key was %s, while another key's goes on waiting", async (_, end) => {
    const world = await newWorld();
    const [key, other] = [await world.withKey("worker"), await world.withKey("worker")];
    const { worker } = await key.ok("POST", "/presence", presence("w1"));
    await other.ok("POST", "/presence", { ...presence("w2"), tags: "gpu" });
    const ended = key.post("/api/workers/w1/claim?wait=25");
    const going = other.post("/api/workers/w2/claim?wait=25");
    // A claim counts as a sign of life.
    await expect
      .poll(async () => (await world.ok("GET", "/api/workers/w1")).last_heartbeat)
      .not.toBe(worker.last_heartbeat);
    await end(world, key);
    expect((await ended).status).toBe(401);
    await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["gpu"] });
    expect((await going).body.jobs).toHaveLength(1);
  });
});

describe("a session", () => {
  it("that was opened with the old secret in its grace ends with the grace, its live view too", async () => {
    const world = await newWorld();
    const old = await world.withKey("standard");
    // Longer than two people take to sign in on a busy machine.
    const fresh = await rotate(world, old, 5);
    const [byOld, byNew] = [await signIn(old.key), await signIn(fresh.key)];
    const watching = [await watch({ cookie: byOld }), await watch({ cookie: byNew })] as const;
    expect([await see(byOld), await see(byNew)]).toEqual([200, 200]);
    await expect.poll(() => see(byOld)).toBe(401);
    expect(await see(byNew)).toBe(200);
    expect((await watching[0].closed).code).toBe(4401);
    expect(isOpen(watching[1])).toBe(true);
  });

  it("that was open before a rotation with grace goes on until the old secret ends", async () => {
    const world = await newWorld();
    const old = await world.withKey("standard");
    const cookie = await signIn(old.key);
    await rotate(world, old, 3600);
    expect(await see(cookie)).toBe(200);
    await rotate(world, old, 0);
    expect(await see(cookie)).toBe(401);
  });

  it("ends when the same browser signs in again", async () => {
    const world = await newWorld();
    const other = await newWorld();
    const first = await signIn(world.key);
    const view = await watch({ cookie: first });
    const second = await signIn(other.key, { cookie: first });
    expect([await see(first), await see(second)]).toEqual([401, 200]);
    expect((await view.closed).code).toBe(4401);
  });
});

describe("a socket", () => {
  const open = (client: Pick<Client, "key">, instance: string) => connectWorker(client.key ?? "", presence(instance));

  it("of the first secret ends with the second rotation, whatever grace that gives", async () => {
    const world = await newWorld();
    const key = await world.withKey("worker");
    const first = await open(key, "first");
    const second = await rotate(world, key, 600);
    const ofSecond = await open({ key: second.key }, "second");
    await rotate(world, key, 600);
    expect((await first.closed).code).toBe(4401);
    expect(isOpen(ofSecond)).toBe(true);
  });
});

describe("a data line", () => {
  const openBoth = async (client: Pick<Client, "key">, instance: string) => {
    await connectWorker(client.key ?? "", presence(instance));
    const { socket } = await connect(`/api/workers/${instance}/stream`, { authorization: `Bearer ${client.key}` });
    if (socket === null) throw new Error("no data line");
    return socket;
  };

  it("ends with the secret that opened it, by rotation and by revocation, and no other does", async () => {
    const world = await newWorld();
    const [rotated, revoked] = [await world.withKey("worker"), await world.withKey("worker")];
    const ofOld = await openBoth(rotated, "old");
    const fresh = await rotate(world, rotated, 0);
    expect((await ofOld.closed).code).toBe(4401);
    const ofNew = await openBoth({ key: fresh.key }, "new");
    const ofRevoked = await openBoth(revoked, "revoked");
    await world.delete(`/api/keys/${revoked.keyId}`);
    expect((await ofRevoked.closed).code).toBe(4401);
    expect(isOpen(ofNew)).toBe(true);
  });

  it("ends with its tenant", async () => {
    const world = await newWorld();
    const line = await openBoth(await world.withKey("worker"), "w1");
    const deleted = await request(ROOT_KEY, "DELETE", `/admin/tenants/${world.tenant}`);
    expect(deleted.status).toBeLessThan(300);
    expect((await line.closed).code).toBe(4401);
  });
});

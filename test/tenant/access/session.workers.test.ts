// The dashboard's session.

import { describe, expect, it } from "vitest";
import { MAX_SESSIONS_A_KEY } from "../../../durable-objects/operations/access/sessions.ts";
import { newWorld, ORIGIN, ROOT_KEY, request } from "../../support/workerd/client.ts";
import { edgeFetch } from "../../support/workerd/edge.ts";
import { signIn } from "../../support/workerd/sign-in.ts";

describe("the dashboard's session", () => {
  it("is a cookie that scripts cannot read and other sites cannot send", async () => {
    const world = await newWorld();
    const { answer, cookie, pair } = await signIn(world.key);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ tenant: world.tenant, role: "admin" });
    expect(answer.text).not.toContain(world.key ?? "");
    for (const flag of ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"]) expect(cookie).toContain(flag);
    expect(cookie).not.toContain("Domain");
    expect(cookie).not.toContain(world.key ?? "");
    expect(pair).toMatch(/^__Host-/);
    const me = await request(null, "GET", "/api/jobs", undefined, { headers: { cookie: pair } });
    expect(me.status).toBe(200);
    // A neighbouring host could set this one.
    const plain = pair.replace("__Host-", "");
    expect((await request(null, "GET", "/api/jobs", undefined, { headers: { cookie: plain } })).status).toBe(401);
  });

  it("keeps apart from that of a service at another port, to which browsers send it, too", async () => {
    const { pair } = await signIn((await newWorld()).key);
    const see = (port: string, cookie: string) =>
      edgeFetch(`${ORIGIN}${port}/session`, { headers: { cookie } }).then(({ status }) => status);
    const renamed = pair.replace("=", "-8443=");
    expect([await see("", pair), await see(":8443", pair)]).toEqual([200, 401]);
    expect([await see(":8443", renamed), await see(":8443", `${pair}; ${renamed}`)]).toEqual([200, 200]);
  });

  it("is not opened by the operator's key, and says that it is that", async () => {
    const { status, body } = await request(null, "POST", "/session", { key: ROOT_KEY });
    expect([status, body.detail]).toEqual([401, expect.stringContaining("this is the operator's root key")]);
  });

  it("ends the oldest of a hundred when its key signs in once more, and no other key's", async () => {
    const world = await newWorld();
    const other = await signIn((await world.withKey("standard")).key);
    const first = await signIn(world.key);
    for (let count = 1; count < MAX_SESSIONS_A_KEY; count += 1) await signIn(world.key);
    const status = async ({ pair }: { pair: string }) =>
      (await request(null, "GET", "/session", undefined, { headers: { cookie: pair } })).status;
    expect(await status(first)).toBe(200);
    const last = await signIn(world.key);
    expect([await status(first), await status(last), await status(other)]).toEqual([401, 200, 200]);
  });

  it("acts with the role of its key, and no other", async () => {
    const world = await newWorld();
    const { pair } = await signIn((await world.withKey("standard")).key);
    const headers = { cookie: pair, origin: ORIGIN };
    expect((await request(null, "GET", "/api/audit", undefined, { headers })).status).toBe(403);
    expect((await request(null, "POST", "/api/jobs", { prompt: "x" }, { headers })).status).toBe(201);
  });

  it("changes nothing for a page of another origin", async () => {
    const world = await newWorld();
    const { pair } = await signIn(world.key);
    const post = (headers: Record<string, string>) =>
      request(null, "POST", "/killswitch", { level: 1, reason: "x" }, { headers: { cookie: pair, ...headers } });
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ]) {
      expect((await post(headers)).status).toBe(403);
    }
    expect((await world.ok("GET", "/killswitch")).level).toBe(0);
    expect((await post({ origin: ORIGIN })).status).toBe(200);
  });

  it("counts beside a password for a proxy in front, which browsers send with every request, and not beside another key", async () => {
    const world = await newWorld();
    const { pair } = await signIn(world.key);
    const see = async (authorization: string, more: Record<string, string> = {}) => {
      const headers = { cookie: pair, authorization, ...more };
      return (await request(null, "GET", "/api/jobs", undefined, { headers })).status;
    };
    for (const scheme of ["Basic", "Digest", "Negotiate"]) expect(await see(`${scheme} dXNlcjpwYXNz`)).toBe(200);
    expect(await see("Basic dXNlcjpwYXNz", { cookie: "" })).toBe(401);
    expect(await see("Basic dXNlcjpwYXNz", { cookie: "", "x-api-key": world.key ?? "" })).toBe(200);
    for (const other of ["Bearer x", "Bearer", "Bearer "]) expect(await see(other)).toBe(401);
  });

  it("dies with its key, with its rotation, and when it is ended", async () => {
    const world = await newWorld();
    const see = (pair: string) => request(null, "GET", "/api/jobs", undefined, { headers: { cookie: pair } });
    for (const end of ["revoke", "rotate", "sign out"]) {
      const key = await world.withKey("standard");
      const { pair } = await signIn(key.key);
      expect((await see(pair)).status).toBe(200);
      if (end === "revoke") await world.delete(`/api/keys/${key.keyId}`);
      else if (end === "rotate") await world.ok("POST", `/api/keys/${key.keyId}/rotate`, {});
      else
        expect(
          (await request(null, "DELETE", "/session", undefined, { headers: { cookie: pair, origin: ORIGIN } })).status,
        ).toBe(204);
      expect([end, (await see(pair)).status]).toEqual([end, 401]);
    }
  });

  it("is not given for a wrong key or another session, and a cookie that is forged or has a key is refused", async () => {
    const world = await newWorld();
    const { pair } = await signIn(world.key);
    const [name, token = ""] = pair.split("=");
    for (const key of ["nonsense", `${world.key}x`, token]) expect((await signIn(key)).answer.status).toBe(401);
    const withCookie = async (cookie: string) =>
      (await request(null, "GET", "/api/jobs", undefined, { headers: { cookie } })).status;
    expect(await withCookie(`${pair.slice(0, -2)}zz`)).toBe(401);
    expect(await withCookie(`${name}=${world.key}`)).toBe(401);
    // Also after its tag was checked.
    expect(await withCookie(pair)).toBe(200);
    expect((await request(token, "GET", "/api/jobs")).status).toBe(401);
  });
});

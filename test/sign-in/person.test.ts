// A person signs in with a real identity provider, against the self-hosted server: what the role opens, and when it ends.

import { describe, expect, it } from "vitest";
import { type Body, send } from "../support/requests.ts";
import { ADA, GRACE, ROLES, START, signInService } from "./sign-in-service.ts";

const service = signInService();
const { admin, signIn, ask, personOf, lastAttempt } = service;

describe("a person", () => {
  it("signs in at the identity provider, and has the role of the first rule that fits", async () => {
    const { browser, end } = await signIn(ADA, `${START}?return=${encodeURIComponent("/#/jobs")}`);
    expect([end.status, end.location]).toEqual([302, `${service.server.url}/#/jobs`]);
    const cookie = end.cookies.find((text) => /^signalbox-\d+=/.test(text));
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    const { body } = await ask(browser, "GET", "/session");
    expect(body).toMatchObject({ role: "admin", name: "Ada Lovelace", key_id: null, tenant: "default" });
    expect(body.person).toMatchObject({ email: "ada@acme.com", issuer: service.idp.issuer, blocked: false });
    expect(await lastAttempt()).toMatchObject({
      outcome: "signed_in",
      rule: ROLES[0],
      claims: { groups: ["ml-admins"], email: "ada@acme.com" },
      person_id: body.person.id,
    });
  });

  it("whom no rule fits is refused, and sees what the provider said, which rules there are, and how to try again", async () => {
    const { browser, end } = await signIn({
      sub: "eve",
      name: "<b>Eve</b>",
      email: "eve@evil.example",
      groups: ["guests"],
    });
    expect(end.status).toBe(403);
    expect(end.text).toContain("guests");
    expect(end.text).toContain("groups has ml-admins: admin");
    expect(end.text).toContain(`<a href="${START}">Sign in again</a>`);
    expect(end.text).not.toContain("<b>Eve");
    expect(end.text).not.toMatch(/<script/i);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
    expect(await lastAttempt()).toMatchObject({ outcome: "refused", rule: null, claims: { groups: ["guests"] } });
  });

  it("has no role by an address that the provider has not verified", async () => {
    const { end } = await signIn({ ...GRACE, sub: "mallory", email: "boss@acme.com", email_verified: false });
    expect(end.status).toBe(403);
  });

  it("has no role by a claim that is nested without end, and sees that", async () => {
    const groups = JSON.parse("[".repeat(2_000) + "]".repeat(2_000));
    const { end } = await signIn({ sub: "deep", name: "Deep", email: "deep@evil.example", groups });
    expect(end.status).toBe(403);
    expect(end.text).toContain('<th scope="row">groups</th><td>not given</td>');
  });

  it("who lost the group has the lower role everywhere at the next sign-in, also in sessions that are open", async () => {
    const { browser } = await signIn(ADA);
    expect((await ask(browser, "GET", "/api/audit")).status).toBe(200);
    await signIn({ ...ADA, groups: [] });
    expect((await ask(browser, "GET", "/api/audit")).status).toBe(403);
    expect((await ask(browser, "GET", "/session")).body.role).toBe("viewer");
    const { end } = await signIn({ ...ADA, groups: [], email: "ada@elsewhere.example" });
    expect(end.status).toBe(403);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
  });

  it("who becomes a viewer has no worker any more: the socket of a personal key ends, and is given nothing", async () => {
    const { browser } = await signIn(ADA);
    const { body: own } = await ask(browser, "POST", "/api/keys", { name: "worker", role: "standard" });
    const socket = new WebSocket(`${service.server.url.replace("http", "ws")}/api/workers/of-ada/connect`, {
      headers: { authorization: `Bearer ${own.key}` },
    } as unknown as string[]);
    const said: Body[] = [];
    socket.addEventListener("message", ({ data }) => said.push(...[JSON.parse(String(data))].flat()));
    const closed = new Promise<number>((resolve) => socket.addEventListener("close", ({ code }) => resolve(code)));
    await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
    const offer = { instance: "of-ada", provider: "p", status: "online", tags: "of-ada" };
    socket.send(JSON.stringify({ type: "presence", id: "1", ...offer }));
    await expect.poll(() => said.some(({ killswitch, jobs }) => killswitch && jobs)).toBe(true);
    await signIn({ ...ADA, groups: [] });
    expect(await closed).toBe(4401);
    const job = (await admin("POST", "/api/jobs", { prompt: "not for a viewer", tags: ["of-ada"] })).body;
    expect((await admin("GET", `/api/jobs/${job.id}`)).body.status).toBe("pending");
    expect(said.filter(({ type }) => type === "job.assigned")).toEqual([]);
    await admin("POST", `/api/jobs/${job.id}/cancel`);
  });

  it("who becomes a viewer gets no answer any more to a request of a session or key, and goes on reading", async () => {
    const offer = { instance: "slow", provider: "p", status: "online", tags: "", models: ["m"], concurrency: 9 };
    await admin("POST", "/presence", { ...offer, apis: ["chat/completions"] });
    const { browser } = await signIn(ADA);
    const { body: own } = await ask(browser, "POST", "/api/keys", { name: "own", role: "standard" });
    const chat = { model: "m", messages: [{ role: "user", content: "x" }] };
    const answers = [
      ask(browser, "POST", "/v1/chat/completions", chat),
      send({ url: service.server.url, key: own.key }, "POST", "/v1/chat/completions", chat),
    ];
    const open = async () => (await admin("GET", "/api/jobs?status=assigned&model=m")).body.jobs.length;
    await expect.poll(open).toBe(2);
    await signIn({ ...ADA, groups: [] });
    for (const { status, body } of await Promise.all(answers)) {
      expect([status, body.error.code]).toEqual([403, "forbidden"]);
    }
    expect((await ask(browser, "GET", "/api/jobs")).status).toBe(200);
  });

  it("who is blocked has no session, socket or key from that moment on; the keys live again", async () => {
    const { browser } = await signIn(ADA);
    const made = await ask(browser, "POST", "/api/keys", { name: "laptop", role: "standard" });
    expect([made.status, made.body.role]).toEqual([201, "standard"]);
    const withKey = () => send({ url: service.server.url, key: made.body.key }, "GET", "/api/jobs");
    expect((await withKey()).status).toBe(200);
    const socket = new WebSocket(`${service.server.url.replace("http", "ws")}/live`, {
      headers: { authorization: `Bearer ${made.body.key}` },
    } as unknown as string[]);
    await new Promise((resolve) => socket.addEventListener("message", resolve, { once: true }));
    const closed = new Promise<number>((resolve) => socket.addEventListener("close", ({ code }) => resolve(code)));
    const { id } = await personOf("ada");
    expect((await admin("POST", `/api/people/${id}/block`)).body.blocked).toBe(true);
    expect(await closed).toBe(4401);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
    const suspended = await withKey();
    expect([suspended.status, suspended.body.code]).toEqual([401, "key_suspended"]);
    const { end } = await signIn(ADA);
    expect(end.status).toBe(403);
    expect(end.text).toContain(`<a href="${START}">Sign in again</a>`);
    await admin("POST", `/api/people/${id}/unblock`);
    expect((await withKey()).status).toBe(200);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
  });

  it("loses all sessions at once when an administrator ends them", async () => {
    const first = await signIn(GRACE);
    const second = await signIn(GRACE);
    const { id } = await personOf("grace");
    expect((await admin("DELETE", `/api/people/${id}/sessions`)).status).toBe(204);
    for (const { browser } of [first, second]) expect((await ask(browser, "GET", "/session")).status).toBe(401);
    expect((await admin("DELETE", "/api/people/person_nobody/sessions")).status).toBe(404);
    expect((await admin("POST", "/api/people/no%20id/block")).status).toBe(404);
  });

  it("makes keys up to the own role, and sees only the own ones", async () => {
    const { browser } = await signIn(GRACE);
    expect((await ask(browser, "POST", "/api/keys", { name: "x", role: "admin" })).status).toBe(403);
    expect((await ask(browser, "POST", "/api/keys", { name: "x", role: "client" })).status).toBe(403);
    const made = await ask(browser, "POST", "/api/keys", { name: "x", role: "viewer" });
    expect(made.status).toBe(201);
    const { keys } = (await ask(browser, "GET", "/api/keys")).body;
    expect(keys.map(({ id }: Body) => id)).toEqual([made.body.id]);
    await signIn({ ...GRACE, realm_access: { roles: ["operator"] } });
    expect((await ask(browser, "POST", "/api/keys", { name: "c", role: "client" })).status).toBe(201);
    const standard = await ask(browser, "POST", "/api/keys", { name: "s", role: "standard" });
    const create = () =>
      send({ url: service.server.url, key: standard.body.key }, "POST", "/api/jobs", { prompt: "x" });
    expect((await create()).status).toBe(201);
    await signIn(GRACE);
    expect((await create()).status).toBe(403);
    expect((await ask(browser, "DELETE", `/api/keys/${made.body.id}`)).status).toBe(204);
  });

  it("neither rotates nor revokes the key of another", async () => {
    const { browser: ada } = await signIn(ADA);
    const { browser: grace } = await signIn(GRACE);
    const asked = { name: "k", role: "standard" };
    for (const { body: other } of [
      await admin("POST", "/api/keys", asked),
      await ask(ada, "POST", "/api/keys", asked),
    ]) {
      const place = `/api/keys/${other.id}`;
      expect((await ask(grace, "POST", `${place}/rotate`, {})).status).toBe(403);
      expect((await ask(grace, "DELETE", place)).status).toBe(403);
      expect((await send({ url: service.server.url, key: other.key }, "GET", "/api/jobs")).status).toBe(200);
    }
  });

  it("is named in the audit, in jobs, in pauses and in the killswitch", async () => {
    const { browser } = await signIn(ADA);
    const { id } = await personOf("ada");
    const job = (await ask(browser, "POST", "/api/jobs", { prompt: "x" })).body;
    const name = "Ada Lovelace <ada@acme.com>";
    expect(job.created_by).toEqual({ key_id: null, person_id: id, name });
    const { body: own } = await ask(browser, "POST", "/api/keys", { name: "mine", role: "standard" });
    const offer = { models: ["m"], apis: ["messages"], status: "online", tags: "" };
    await admin("POST", "/presence", { instance: "lines", provider: "p", concurrency: 9, ...offer });
    const params = { model: "m", max_tokens: 5, messages: [{ role: "user", content: "hi" }] };
    const batch = { requests: [{ custom_id: "one", params }] };
    const asOwn = { url: service.server.url, key: own.key };
    expect((await send(asOwn, "POST", "/v1/messages/batches", batch)).status).toBe(200);
    await expect
      .poll(async () => (await admin("GET", `/api/jobs?key=${own.id}`)).body.jobs.map((line: Body) => line.created_by))
      .toEqual([{ key_id: own.id, person_id: id, name }]);
    await admin("POST", "/presence", { instance: "w1", provider: "p", status: "online", tags: "" });
    expect((await ask(browser, "POST", "/api/workers/w1/pause", { reason: "a test" })).status).toBe(200);
    await ask(browser, "POST", "/killswitch", { level: 4, reason: "a test" });
    const { body: state } = await ask(browser, "GET", "/killswitch");
    expect(state.activated_by).toBe(name);
    const during = await signIn(GRACE);
    expect(during.end.status).toBe(302);
    // How people sign in is config: no write but those that stop, of keys and of work under way is taken.
    const changed = await admin("PUT", "/api/sign-in", service.config());
    expect([changed.status, changed.body.code]).toEqual([503, "killswitch_active"]);
    await ask(browser, "DELETE", "/killswitch");
    const { entries } = (await admin("GET", `/api/audit?actor=${id}`)).body;
    const actions = entries.map(({ action }: Body) => action);
    expect(actions).toEqual(expect.arrayContaining(["killswitch.activated", "worker.paused"]));
    expect(entries[0].actor).toEqual({ key_id: null, person_id: id, name });
  });
});

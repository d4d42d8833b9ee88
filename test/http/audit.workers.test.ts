// The audit log: found by action, actor, target and time.

import { expect, test } from "vitest";
import { type Body, newWorld } from "../support/workerd/client.ts";
import { holdToDocument } from "../support/workerd/document.ts";

holdToDocument();

test("the audit log is narrowed by action, actor, target and time", async () => {
  const world = await newWorld();
  const { id } = await world.ok("POST", "/api/keys", { name: "night", role: "standard" });
  await world.ok("PUT", "/config", { jobs: { max_attempts: 3 } });
  const other = await world.withKey("admin");
  await other.ok("DELETE", `/api/keys/${id}`);
  const found = async (query: string): Promise<[action: string, target: string][]> => {
    const { entries, total } = await world.ok("GET", `/api/audit?${query}`);
    expect(total).toBe(entries.length);
    return entries.map((entry: Body) => [entry.action, entry.target]);
  };
  const all = await found("");
  expect(await found("action=key.revoked")).toEqual([["key.revoked", id]]);
  expect(await found("action=key")).toEqual(all.filter(([action]) => action.startsWith("key.")));
  expect(await found("action=k")).toEqual([]);
  expect((await found(`target=${id}`)).map(([action]) => action)).toEqual(["key.revoked", "key.created"]);
  expect(await found(`actor=${other.keyId}`)).toEqual([["key.revoked", id]]);
  expect(await found("since=2999-01-01T00:00:00Z")).toEqual([]);
  expect(await found("until=2999-01-01T00:00:00Z")).toEqual(all);
  expect((await world.get("/api/audit?since=yesterday")).status).toBe(400);
});

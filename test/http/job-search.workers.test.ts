// A search finds jobs by the beginnings of words, whichever way the index is asked.

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { inIndex } from "../../src/history/lists/known-words.ts";
import { type Body, newWorld, type World } from "../support/workerd/client.ts";

const search = async (world: World, q: string): Promise<string[]> => {
  const { jobs, total } = await world.ok("GET", `/api/jobs?${new URLSearchParams({ q })}`);
  expect((await world.ok("GET", `/api/jobs?${new URLSearchParams({ q, count_only: "true" })}`)).total).toBe(total);
  return jobs.map(({ prompt }: Body) => prompt).sort();
};

const worldWith = async (...prompts: string[]): Promise<World> => {
  const world = await newWorld();
  for (const prompt of prompts) await world.ok("POST", "/api/jobs", { prompt });
  return world;
};

const asked = (...words: string[]): Promise<string[]> => inIndex(env.DB, words);

test("a word of few forms is looked up by each of them, in any case", async () => {
  const world = await worldWith("zug", "Zugspitze", "der ZUG fährt", "zu", "zuh");
  expect(await search(world, "Zug")).toEqual(["Zugspitze", "der ZUG fährt", "zug"]);
  expect(await search(world, "zug fahrt")).toEqual(["der ZUG fährt"]);
  expect(await search(world, "zug der")).toEqual(["der ZUG fährt"]);
  expect(await asked("ZUG")).toEqual(['("zug" OR "zugspitze")']);
  expect(await asked("der", "Zugs")).toEqual(['("der")', '("zugspitze")']);
});

test("a word that no job has finds none", async () => {
  const world = await worldWith("quark");
  expect(await search(world, "quarks")).toEqual([]);
  expect(await search(world, "quark quarks")).toEqual([]);
  expect(await asked("quarks")).toEqual(['("quarks")']);
});

test("a word of many forms, of long ones, or with letters that the index folds is left to the index", async () => {
  const forms = Array.from({ length: 513 }, (_, index) => `yard${index}`);
  const long = `xylo${"p".repeat(61)}`;
  const world = await worldWith(forms.join(" "), long, "Ökonomie");
  expect(await search(world, "yard")).toEqual([forms.join(" ")]);
  expect(await search(world, "XYLO")).toEqual([long]);
  expect(await search(world, "ökon")).toEqual(["Ökonomie"]);
  expect(await search(world, "okon")).toEqual(["Ökonomie"]);
  expect(await search(world, "a".repeat(200))).toEqual([]);
  expect(await asked("yard", "xylo", "ökon", "okon")).toEqual(['"yard"*', '"xylo"*', '"ökon"*', '("okonomie")']);
});

test("the words of other tenants find nothing", async () => {
  await worldWith("wombat", "wombats");
  const world = await worldWith("wombatlike");
  expect(await search(world, "wombat")).toEqual(["wombatlike"]);
});

test("a single letter that begins many words finds only itself", async () => {
  const words = Array.from({ length: 513 }, (_, index) => `jet${index}`).join(" ");
  const world = await worldWith(words, "vitamin J", "journey");
  expect(await search(world, "j")).toEqual(["vitamin J"]);
  expect(await search(world, "vit j")).toEqual(["vitamin J"]);
  expect(await search(world, "jo")).toEqual(["journey"]);
});

test("the beginning of ids finds their jobs page by page, beside those that have it as a word, each once", async () => {
  const world = await newWorld();
  const made: Body[] = [];
  for (let index = 0; index < 5; index += 1) made.push(await world.ok("POST", "/api/jobs", { prompt: `job ${index}` }));
  const q = String(made[0]?.id).slice(0, 4);
  const named = await world.ok("POST", "/api/jobs", { prompt: `as ${q} says`, tags: ["named"] });
  const ids = [...made, named].map(({ id }) => id);
  for (const sort of ["created_at", "-created_at", "-cost_usd"]) {
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const more: Record<string, string> = cursor === null ? {} : { cursor };
      const page = await world.ok("GET", `/api/jobs?${new URLSearchParams({ q, sort, limit: "2", ...more })}`);
      expect(page.total).toBe(6);
      found.push(...page.jobs.map(({ id }: Body) => id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(sort === "created_at" ? found.reverse() : found).toEqual(ids);
  }
  const narrowed = await world.ok("GET", `/api/jobs?${new URLSearchParams({ q, tag: "named" })}`);
  expect(narrowed.jobs.map(({ id }: Body) => id)).toEqual([named.id]);
  const one = await world.ok("GET", `/api/jobs?${new URLSearchParams({ q: ids[2] })}`);
  expect([one.total, one.jobs[0]?.id]).toEqual([1, ids[2]]);
});

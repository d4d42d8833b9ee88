// A job that is changed again and again: what one answer reads of its timeline is bounded.

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";

const FURTHER = 1_000;
const DETAIL_CHARS = 4_000;

it("of events with long details an answer has the first", async () => {
  const world = await newWorld();
  const { id } = await world.ok("POST", "/api/jobs", { prompt: "x" });
  await world.stub.drain();
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 65 UNION ALL SELECT i + 1 FROM n WHERE i < 64 + ?3)
     INSERT INTO events SELECT ?1, ?2, i, i, 'job.updated', NULL, 0, json_quote(printf('%0${DETAIL_CHARS}d', i)) FROM n`,
  )
    .bind(world.tenant, id, FURTHER)
    .run();
  const { events } = await world.ok("GET", `/api/jobs/${id}/events`);
  expect(events[0].type).toBe("job.created");
  expect(events.slice(1).map(({ detail }: { detail: string }) => Number(detail))).toEqual(
    Array.from({ length: events.length - 1 }, (_, index) => 65 + index),
  );
  expect(events.length).toBeGreaterThan(FURTHER / 4);
  expect(events.length).toBeLessThan(FURTHER / 1.5);
  expect((await world.ok("GET", `/api/jobs/${id}/attempts`)).attempts).toEqual([]);
});

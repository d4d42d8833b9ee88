// A collector of spans that is slower than jobs end, or answers nothing: what waits for it is bounded.

import { expect, test } from "vitest";
import type { Job } from "../../domain/job/job.ts";
import { createJob } from "../../domain/job/new-job.ts";
import { MAX_WAITING_JOBS, SpanExporter } from "../../durable-objects/history/span-exporter.ts";
import { NOON, REQUEST } from "../domain/job/sample-jobs.ts";

const jobs = (count: number): Job[] =>
  Array.from({ length: count }, (_, at) => createJob(REQUEST, `job-${at}`, NOON).job);

/** A collector whose requests are answered by hand, and the exporter that it belongs to. */
const slowCollector = () => {
  const asked: { readonly spanCount: number; readonly answer: (status: number) => void }[] = [];
  const fetch = (_url: string, { body }: { body: string }) =>
    new Promise<Response>((resolve) => {
      const spanCount = JSON.parse(body).resourceSpans[0].scopeSpans[0].spans.length as number;
      asked.push({ spanCount, answer: (status) => resolve(new Response("{}", { status })) });
    });
  const statement = { bind: () => statement, all: async () => ({ results: [] }) };
  const database = { prepare: () => statement } as unknown as D1Database;
  const settings = { SERVICE_OTLP_URL: "http://collector/v1/traces", LOCAL_NETWORK: { fetch } as unknown as Fetcher };
  return { asked, exporter: new SpanExporter(settings, "default", () => database) };
};

test("a slow collector has one request of a tenant at a time, and gets together what ended meanwhile", async () => {
  const { asked, exporter } = slowCollector();
  const first = exporter.export(jobs(1));
  for (let drains = 0; drains < 50; drains += 1) await exporter.export(jobs(3));
  await expect.poll(() => asked.length).toBe(1);
  asked[0]?.answer(200);
  await expect.poll(() => asked.length).toBe(2);
  expect(asked[1]?.spanCount).toBe(150 * (asked[0]?.spanCount ?? 0));
  asked[1]?.answer(200);
  await first;
  expect(asked).toHaveLength(2);
});

test("a collector that hangs keeps a bounded number of jobs, and has later ones once it is back", async () => {
  const { asked, exporter } = slowCollector();
  const first = exporter.export(jobs(1));
  await expect.poll(() => asked.length).toBe(1);
  await exporter.export(jobs(MAX_WAITING_JOBS + 500));
  asked[0]?.answer(200);
  const bySpan = asked[0]?.spanCount ?? 1;
  for (let at = 1; at <= MAX_WAITING_JOBS / 200; at += 1) {
    await expect.poll(() => asked.length).toBe(at + 1);
    asked[at]?.answer(200);
  }
  await first;
  expect(asked.slice(1).reduce((sum, { spanCount }) => sum + spanCount / bySpan, 0)).toBe(MAX_WAITING_JOBS);
  const refused = exporter.export(jobs(1));
  await expect.poll(() => asked.length).toBe(2 + MAX_WAITING_JOBS / 200);
  await exporter.export(jobs(10));
  asked.at(-1)?.answer(503);
  await refused;
  const again = exporter.export(jobs(2));
  await expect.poll(() => asked.length).toBe(3 + MAX_WAITING_JOBS / 200);
  expect(asked.at(-1)?.spanCount).toBe(2 * bySpan);
  asked.at(-1)?.answer(200);
  await again;
});

// Lists in pages, over the SDK and a service that answers page by page.

import { describe, expect, it } from "vitest";
import { UsageError } from "../../cli/failure.ts";
import { runCommand } from "./run-command.ts";

const TOTAL = 450;

/** A list of 450 rows, as the service pages it. */
const answerOf = (rows: string, rowOf: (at: number) => object) => (url: URL) => {
  const limit = Number(url.searchParams.get("limit") ?? 50);
  const offset = Number(url.searchParams.get("offset") ?? 0);
  const shown = Math.max(0, Math.min(limit, TOTAL - offset));
  return { [rows]: Array.from({ length: shown }, (_, at) => rowOf(offset + at)), total: TOTAL, limit, offset };
};

describe.each([
  [["schedules", "history", "s"], "history", (at: number) => ({ scheduled_for: `${at}` })],
  [["catalog", "history", "c"], "history", (at: number) => ({ at: `${at}` })],
  [["webhooks", "deliveries", "w"], "deliveries", (at: number) => ({ id: `${at}` })],
  [["jobs", "list"], "jobs", (at: number) => ({ id: `${at}`, error: null, prompt: "" })],
])("%j", (argv, rows, rowOf) => {
  const shown = async (...flags: readonly string[]) => {
    const { out, err } = await runCommand([...argv, ...flags], answerOf(rows, rowOf));
    return { lines: out.trimEnd().split("\n"), out, err };
  };

  it("shows the newest 50 and how to see the others", async () => {
    const { lines, err } = await shown();
    expect(lines).toHaveLength(50);
    expect(err).toBe("The newest 50 of 450; --all lists every page.\n");
  });

  it("--limit counts rows, over as many pages as they take", async () => {
    const { lines, err } = await shown("--limit", "300");
    expect(lines).toHaveLength(300);
    expect(lines[299]?.startsWith("299")).toBe(true);
    expect(err).toBe("The newest 300 of 450; --all lists every page.\n");
  });

  it("--all reads every page, also as JSON", async () => {
    const { lines, err } = await shown("--all");
    expect(lines).toHaveLength(TOTAL);
    expect(err).toBe("");
    const whole = JSON.parse((await shown("--all", "--json")).out);
    expect(whole[rows]).toHaveLength(TOTAL);
    expect(whole.total).toBe(TOTAL);
  });

  it("is not asked for a number and for all at once", async () => {
    await expect(shown("--all", "--limit", "3")).rejects.toThrow(UsageError);
  });
});

// `top`: figures from /metrics, rates between two looks, and a screen that fits.

import { describe, expect, it } from "vitest";
import { samplesOf, sumOf } from "../../cli/metrics-text.ts";
import { figuresOf, lookOf, screenOf } from "../../cli/top.ts";
import { runCommand } from "./run-command.ts";

const metrics = (completed: number, level = 0) => `# HELP signalbox_workers Registered workers.
# TYPE signalbox_workers gauge
signalbox_workers{status="idle"} 2
signalbox_workers{status="offline"} 5
signalbox_workers_paused 1
signalbox_queue_jobs 7
signalbox_leases 3
signalbox_jobs_total{status="completed"} ${completed}
signalbox_jobs_total{status="failed"} 4
signalbox_tokens_total{provider="a",model="say \\"hi\\", {x}",kind="output"} 60
signalbox_tokens_total{provider="b",model="m",kind="output"} 40
signalbox_cost_usd_total{provider="a",model="m"} 1.5e-3
signalbox_killswitch_level ${level}
`;

it("samples are read with their labels, whatever stands in them", () => {
  const samples = samplesOf(metrics(10));
  expect(samples.find(({ labels }) => labels.provider === "a")?.labels.model).toBe('say \\"hi\\", {x}');
  expect(sumOf(samples, "signalbox_tokens_total")).toBe(100);
  expect(sumOf(samples, "signalbox_workers", { status: "idle" })).toBe(2);
});

describe("a look", () => {
  const before = lookOf(metrics(10), 0);

  it("has the figures of now, and rates since the look before", () => {
    expect(figuresOf(before, null)).toMatchObject({ running: 3, waiting: 7, completed_per_minute: null });
    expect(figuresOf(lookOf(metrics(11, 2), 30_000), before)).toEqual({
      at: "1970-01-01T00:00:30.000Z",
      running: 3,
      waiting: 7,
      completed_per_minute: 2,
      failed_per_minute: 0,
      tokens_per_minute: 0,
      usd_per_minute: 0,
      workers_online: 2,
      workers_paused: 1,
      workers_offline: 5,
      killswitch_level: 2,
    });
  });

  it("has what little a job may cost", () => {
    const spent = lookOf(metrics(10).replace("1.5e-3", "0.001500021"), 60_000);
    expect(figuresOf(spent, before).usd_per_minute).toBe(0.000000021 * 1);
  });

  it("never has a rate below zero, although a crash takes counts back", () => {
    expect(figuresOf(lookOf(metrics(3), 1000), before).completed_per_minute).toBe(0);
  });
});

describe("the screen", () => {
  const many = <Row>(row: (at: number) => Row): Row[] => Array.from({ length: 50 }, (_, at) => row(at));
  const lists = {
    jobs: many((at) => ({ id: `job-${at}`, prompt: "x".repeat(200) })),
    workers: many((at) => ({ instance: `worker-${at}`, current_load: 1, concurrency: 2, status: "online" })),
    queue: { groups: many(() => ({ count: 1, tags: ["gpu"], reason: "none" })) },
  } as never;
  const shown = (rows: number) =>
    screenOf("title", lookOf(metrics(1, 4), 0), null, lists, { columns: 80, rows }).map(({ text }) => text);

  it.each([12, 24, 60])("has at most %d lines, with a part of each table", (rows) => {
    const lines = shown(rows);
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const word of ["job-0", "gpu", "worker-0"]) expect(lines.join("\n")).toContain(word);
    expect(lines[1]).toContain("KILLSWITCH at level 4");
  });

  it("leaves out tables without rows", () => {
    const none = { jobs: [], workers: [], queue: { groups: [] } } as never;
    expect(screenOf("title", lookOf(metrics(1), 0), null, none, { columns: 80, rows: 24 })).toHaveLength(3);
  });
});

describe("the command", () => {
  const answer = ({ pathname }: URL) =>
    pathname === "/metrics"
      ? new Response(metrics(10))
      : { tenant: "acme", jobs: [], workers: [], groups: [], total: 0, delayed: 0 };

  it("prints a line of figures each time, in a pipe; --json names them in the same order", async () => {
    const { out } = await runCommand(["top", "--count", "1"], answer);
    expect(out).toMatch(/^\S+Z\t3\t7\t\t\t\t\t2\t1\t5\t0\n$/);
    const { out: json } = await runCommand(["top", "--count", "1", "--json"], answer);
    const [, ...figures] = Object.values(JSON.parse(json) as Record<string, number | null>);
    expect(out.trimEnd().split("\t").slice(1)).toEqual(figures.map((figure) => String(figure ?? "")));
  });

  it("prints one picture in a pipe, without control sequences, and ends", async () => {
    const { out } = await runCommand(["top"], answer);
    expect(out).toBe(
      [
        "Tenant acme at http://127.0.0.1:8787",
        "jobs: 3 under way, 7 waiting",
        "workers: 2 online, 1 paused, 5 offline",
        "",
      ].join("\n"),
    );
    const { out: json } = await runCommand(["top", "--json"], answer);
    expect(JSON.parse(json)).toMatchObject({ running: 3 });
  });

  it.each(["q", "\u0003"])("ends on the terminal with the key %j", async (key) => {
    let isHeard = true;
    const { out } = await runCommand(["top"], answer, null, true, (press) => {
      setTimeout(() => press(key), 50);
      return () => {
        isHeard = false;
      };
    });
    expect(out.endsWith("\u001b[?1049l")).toBe(true);
    expect(isHeard).toBe(false);
  });

  it("draws on the terminal's other screen, and leaves it at the end", async () => {
    const { out } = await runCommand(["top", "--count", "1"], answer, null, true);
    expect(out.startsWith("\u001b[?1049h")).toBe(true);
    expect(out).toContain("Tenant acme at http://127.0.0.1:8787");
    expect(out.endsWith("\u001b[?1049l")).toBe(true);
  });

  it("looks on while the coordinator is away, and ends where the key is refused", async () => {
    const problem = (status: number, code: string) =>
      Response.json(
        { code, title: "No", detail: code, status },
        { status, headers: { "content-type": "application/problem+json" } },
      );
    const refusing = (status: number, code: string) => (url: URL) =>
      url.pathname === "/metrics" ? problem(status, code) : answer(url);
    const { err } = await runCommand(["top", "--count", "1"], refusing(409, "tenant_moved"));
    expect(err).toBe("tenant_moved\n");
    await expect(runCommand(["top", "--count", "1"], refusing(403, "forbidden"))).rejects.toThrow("forbidden");
    // The longest is more than a timer takes, which would look without a pause.
    for (const every of ["0", "2147484"])
      await expect(runCommand(["top", "--every", every, "--count", "2"], answer)).rejects.toThrow(
        "--every takes 1 to 86400 seconds",
      );
    for (const count of ["0", "-1", "1.5"])
      await expect(runCommand(["top", "--count", count], answer)).rejects.toThrow("--count takes a whole number");
  });
});

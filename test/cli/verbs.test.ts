// What commands say and refuse beside what the service answers.

import { describe, expect, it } from "vitest";
import { UsageError } from "../../cli/failure.ts";
import { runCommand } from "./run-command.ts";

const run = (argv: readonly string[], answer: object) => runCommand(argv, () => answer);

describe("a list of which only the newest part is shown", () => {
  const job = { id: "j1", status: "pending", assigned_worker: null, created_at: "", prompt: "hi", error: null };

  it.each([
    [["jobs", "list"], "jobs", job, "The newest 1 of 260; --all lists every page.\n"],
    [["schedules", "history", "s"], "history", {}, "The newest 1 of 260; --all lists every page.\n"],
    [["catalog", "history", "s"], "history", {}, "The newest 1 of 260; --all lists every page.\n"],
    [["webhooks", "deliveries", "w"], "deliveries", {}, "The newest 1 of 260; --all lists every page.\n"],
  ])("says so: %j", async (argv, rows, row, says) => {
    const { out, err } = await run(argv, { [rows]: [row], total: 260 });
    expect(err).toBe(says);
    expect(out.split("\n")).toHaveLength(2);
    expect((await run(argv, { [rows]: [row], total: 1 })).err).toBe("");
  });
});

describe("what would do something else than it says", () => {
  it.each([
    [["killswitch", "on", "0", "--reason", "calm"], "killswitch off"],
    [["explain", "--job", "j1", "--tag", "gpu"], "leave out the other flags"],
  ])("is wrong usage: %j", async (argv, says) => {
    await expect(run(argv, {})).rejects.toThrow(says);
    await expect(run(argv, {})).rejects.toThrow(UsageError);
  });
});

describe("what an operator must see", () => {
  const worker = { instance: "w1", status: "idle", provider: "ollama", current_load: 0, concurrency: 1, tags: "" };

  it("is a worker whose runtime is down, although it is idle", async () => {
    const unavailable = "the runtime does not answer";
    const down = { ...worker, paused: false, unavailable };
    const { out } = await run(["workers", "list"], { workers: [down], total: 1 });
    expect(out).toContain("w1\tidle, unavailable\tollama");
    expect((await run(["workers", "get", "w1"], down)).out).toContain(`unavailable\t${unavailable}`);
    const both = { ...down, paused: true };
    expect((await run(["workers", "list"], { workers: [both], total: 1 })).out).toContain("idle, paused, unavailable");
  });

  it("is how to resume the workers after a clear that leaves them paused", async () => {
    const off = { level: 0, active: false };
    expect((await run(["killswitch", "off"], off)).err).toContain("killswitch off --resume-all");
    expect((await run(["killswitch", "off", "--resume-all"], off)).err).toBe("");
  });

  it("is which workers have not confirmed a halt", async () => {
    const state = {
      level: 4,
      active: true,
      halted_jobs: 2,
      confirmed_workers: 1,
      workers_to_confirm: 2,
      unconfirmed: [
        { instance: "gpu-1", status: "busy" },
        { instance: "laptop", status: "offline" },
      ],
    };
    const { out } = await run(["killswitch", "status"], state);
    expect(out).toContain("confirmed workers\t1 of 2\nnot confirmed\tgpu-1,laptop (offline)\n");
  });
});

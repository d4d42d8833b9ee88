// `models`: what is on the machines, tasks on one worker or all with a tag, and their progress.

import { describe, expect, it } from "vitest";
import { Failure } from "../../cli/failure.ts";
import { progressOf } from "../../cli/verbs/models.ts";
import { type ModelTaskResource, presentTask } from "../../contract/fleet/model-task.ts";
import { newModelTask } from "../../domain/fleet/model-task.ts";
import { runCommand } from "./run-command.ts";

const task = (id: string, more: Partial<ModelTaskResource> = {}): ModelTaskResource => ({
  ...presentTask(newModelTask({ id, worker: "w1", action: "pull", model: "qwen3", keepAlive: null }, 0)),
  ...more,
});
const worker = (instance: string, can: readonly string[] | null, more: object = {}) => ({
  instance,
  can,
  status: "idle",
  loaded: null,
  on_disk: null,
  ...more,
});
const page = (field: string, items: readonly object[]) => ({
  [field]: items,
  total: items.length,
  limit: 200,
  offset: 0,
});

describe("models list", () => {
  it("has a line for each model of each worker, and says what is under way", async () => {
    const gpu = worker("gpu-1", ["pull"], {
      loaded: [{ model: "gemma" }],
      on_disk: [
        { model: "gemma", bytes: 1_500 },
        { model: "phi", bytes: 20 },
      ],
    });
    const pulled = task("t", { worker: "gpu-1", status: "running", progress: { stage: "pulling a1" } });
    const { out } = await runCommand(["models", "list"], (url) =>
      url.pathname === "/api/workers"
        ? page("workers", [gpu])
        : page("tasks", [pulled, task("old", { status: "done" })]),
    );
    expect(out).toBe(
      "gemma\tgpu-1\tloaded\t1.5 KB\nphi\tgpu-1\ton disk\t20 B\nqwen3\tgpu-1\tabsent, pull: pulling a1\t\n",
    );
  });
});

describe("a task by command", () => {
  const run = async (argv: readonly string[], ends: ModelTaskResource["status"] = "done") => {
    const asked: string[] = [];
    const workers = [worker("w1", ["pull"]), worker("w2", ["pull", "load"]), worker("w3", null)];
    const ran = await runCommand(argv, (url, { method = "GET", body }) => {
      if (method !== "GET") asked.push(`${url.pathname} ${String(body)}`);
      if (url.pathname === "/api/workers") return page("workers", workers);
      if (url.pathname.startsWith("/api/workers/") && method === "GET")
        return workers.find(({ instance }) => url.pathname.endsWith(instance)) ?? {};
      if (url.pathname === "/api/models/place")
        return {
          tasks: [],
          workers: ["w3", "w2", "w1"].map((instance) => ({ instance, score: 1, breakdown: {}, reasons: [] })),
        };
      if (method === "POST") return { task: task(url.pathname.split("/")[3] ?? "") };
      return page("tasks", [task("w1", { status: ends }), task("w2", { status: ends })]);
    });
    return { ...ran, asked };
  };

  it("goes to the named worker and is followed to its end", async () => {
    const { asked, out, code } = await run(["models", "pull", "qwen3", "--on", "w1"]);
    expect(asked).toEqual(['/api/workers/w1/models {"action":"pull","model":"qwen3"}']);
    expect([out, code]).toEqual(["w1\tw1\tpull qwen3\tdone\t\n", 0]);
  });

  it("is followed on where the service was away meanwhile", async () => {
    let looks = 0;
    const { out, code } = await runCommand(["models", "pull", "qwen3", "--on", "w1"], (_url, { method = "GET" }) => {
      if (method === "POST") return { task: task("w1") };
      looks += 1;
      // Once more than a call repeats itself.
      if (looks <= 3) return Promise.reject(new TypeError("the connection was refused"));
      return page("tasks", [task("w1", { status: "done" })]);
    });
    expect([out, code]).toEqual(["w1\tw1\tpull qwen3\tdone\t\n", 0]);
  });

  it("fails when one of its tasks does", async () => {
    expect((await run(["models", "pull", "qwen3", "--on", "w1"], "failed")).code).toBe(1);
  });

  it("goes to all with a tag that can do it, or to the best of them", async () => {
    const paths = (asked: readonly string[]) => asked.map((one) => one.split(" ")[0]);
    const every = await run(["models", "pull", "qwen3", "--on", "tag:gpu"]);
    expect(paths(every.asked)).toEqual(["/api/workers/w1/models", "/api/workers/w2/models"]);
    const best = await run(["models", "pull", "qwen3", "--on", "tag:gpu", "--copies", "1"]);
    expect(paths(best.asked)).toEqual(["/api/models/place", "/api/workers/w2/models"]);
  });

  it("says with --dry-run where it would go, and gives nothing", async () => {
    const every = await run(["models", "pull", "qwen3", "--on", "tag:gpu", "--dry-run"]);
    expect([every.out, every.asked, every.code]).toEqual(["w1\tpull qwen3\nw2\tpull qwen3\n", [], 0]);
    const named = await run(["models", "load", "qwen3", "--on", "w2", "--dry-run"]);
    expect([named.out, named.asked]).toEqual(["w2\tload qwen3\n", []]);
    const best = await run(["models", "pull", "qwen3", "--on", "tag:gpu", "--copies", "1", "--dry-run"]);
    expect(best.out).toBe("w2\tpull qwen3\n");
    const refused = run(["models", "delete", "qwen3", "--on", "w1", "--dry-run"]);
    await expect(refused).rejects.toThrow(new Failure("worker w1 takes no tasks to delete models"));
  });

  it("needs a place, and somebody there who can", async () => {
    await expect(run(["models", "pull", "qwen3"])).rejects.toThrow("--on <instance>");
    const none = run(["models", "delete", "qwen3", "--on", "tag:gpu"]);
    await expect(none).rejects.toThrow(new Failure("no worker with the tag gpu takes tasks to delete models"));
    await expect(none).rejects.toBeInstanceOf(Failure);
    await expect(run(["models", "pull", "qwen3", "--on", "tag:gpu", "--copies", "0"])).rejects.toThrow("--copies");
    await expect(run(["models", "pull", "qwen3", "--on", "w1", "--copies", "0"])).rejects.toThrow("--copies");
    await expect(run(["models", "place", "qwen3", "--on", "w1"])).rejects.toThrow("--on tag:<name>");
  });
});

describe("models place", () => {
  it("says with --dry-run where there is room, and why not elsewhere", async () => {
    const workers = [
      { instance: "w1", score: 80, breakdown: {}, reasons: ["has it on disk", "fits"] },
      { instance: "w2", score: null, breakdown: {}, reasons: ["is offline"] },
    ];
    let asked: unknown;
    const { out } = await runCommand(["models", "place", "qwen3", "--copies", "2", "--dry-run"], (_url, { body }) => {
      asked = JSON.parse(String(body));
      return { tasks: [], workers };
    });
    expect(asked).toEqual({ model: "qwen3", copies: 2, dry_run: true });
    expect(out).toBe("w1\t80\thas it on disk; fits\nw2\t\tis offline\n");
  });

  it("says of each worker why no task was given", async () => {
    const workers = [{ instance: "w1", score: null, breakdown: {}, reasons: ["is offline"] }];
    const { out, err } = await runCommand(["models", "place", "qwen3"], () => ({ tasks: [], workers }));
    expect([out, err]).toEqual(["w1\t\tis offline\n", "No task was given. Of each worker, why:\n"]);
  });
});

describe("the progress of several tasks", () => {
  it("is their bytes together, and what the first that runs does", () => {
    const bytes = { completed_bytes: 2_000, total_bytes: 8_000, bytes_per_second: 500 };
    const running = task("a", { status: "running", progress: { ...bytes, stage: "pulling a1" } });
    const done = task("b", { status: "done", progress: { ...bytes, completed_bytes: 8_000, stage: "success" } });
    expect(progressOf([done, running])).toBe(
      "1/2 over [############--------] 10.0 KB of 16.0 KB, 500 B/s, w1: pulling a1",
    );
    expect(progressOf([task("a")])).toBe("0/1 over, w1: queued");
  });
});

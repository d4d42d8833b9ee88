// Models: who has which, a pull that moves without a reload, what a worker may be told to do, where a model has room, and
// what waiting jobs ask for that nobody has.

import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World, worldForTests } from "./browser.ts";

interface Task {
  readonly id: string;
  readonly action: string;
  readonly model: string;
  readonly status: string;
}

const GB = 1_000_000_000;
const ALL = ["pull", "load", "unload", "delete"];
const hardware = {
  gpus: [{ name: "RTX 4090", total_mb: 24_576, used_mb: 10_240 }],
  ram_mb: 65_536,
  ram_free_mb: 30_000,
};
const FLEET = [
  {
    instance: "studio",
    models: ["qwen3:14b", "llama3.2"],
    hardware,
    loaded: [{ model: "qwen3:14b", vram_mb: 9_800 }],
    on_disk: [
      { model: "qwen3:14b", bytes: 9 * GB },
      { model: "llama3.2:latest", bytes: 2 * GB },
    ],
    can: ALL,
  },
  {
    instance: "garage",
    models: ["llama3.2"],
    hardware,
    loaded: [],
    on_disk: [{ model: "llama3.2", bytes: 2 * GB }],
    can: ALL,
  },
  { instance: "rack", models: ["big"], loaded: [{ model: "big" }], on_disk: [] },
];

describe.skipIf(lacksBrowser())("the page Models", () => {
  let world: World;
  worldForTests(
    () => startWorld({ hasWorker: false }),
    (started) => {
      world = started;
    },
  );
  beforeEach(async () => {
    for (const worker of FLEET)
      await world.call("POST", "/presence", { ...worker, provider: "ollama", status: "idle", tags: "" });
  });

  const row = (page: Page, model: string) => page.getByRole("row", { name: model });
  const tasksOf = async (worker: string): Promise<Task[]> =>
    (await world.call<{ tasks: Task[] }>("GET", `/api/model-tasks?worker=${worker}`)).tasks;

  it("shows for each model and worker whether it is loaded, on disk or absent, one model under its two names", async () => {
    const { page, faults } = await world.show("models");
    const table = page.getByRole("table", { name: "Models and workers" });
    await table.waitFor();
    await expect
      .poll(() => table.getByRole("columnheader").allTextContents())
      .toEqual([
        "Model",
        expect.stringContaining("garage"),
        expect.stringMatching(/^rack.*not managed$/),
        expect.stringMatching(/^studio.*GPU 10 GiB of 24 GiB$/),
      ]);
    await expect
      .poll(() => row(page, "llama3.2").getByRole("cell").allTextContents())
      .toEqual([expect.stringMatching(/on disk1.9 GiB$/), "absent", expect.stringMatching(/on disk1.9 GiB$/)]);
    await expect
      .poll(() => row(page, "qwen3:14b").getByRole("cell").allTextContents())
      .toEqual([expect.stringMatching(/absent$/), "absent", expect.stringMatching(/loaded9.6 GiB$/)]);
    await expect.poll(() => table.getByRole("row").count()).toBe(4);
    expect(faults()).toEqual([]);
  });

  it("pulls a model to a worker, and its bar moves without a reload", async () => {
    const { page, faults } = await world.show("models");
    await page.getByRole("button", { name: "qwen3:14b on garage: absent" }).click();
    const dialog = page.getByRole("dialog");
    await expect.poll(() => dialog.getByRole("button").allTextContents()).toEqual(["Not now", "Pull"]);
    await dialog.getByRole("button", { name: "Pull" }).click();
    await row(page, "qwen3:14b").getByText("pull queued").waitFor();
    const [task] = await tasksOf("garage");
    const told = { stage: "pulling", completed_bytes: 3 * GB, total_bytes: 9 * GB, bytes_per_second: 40_000_000 };
    await world.call("POST", `/api/model-tasks/${task?.id}/progress`, told);
    const bar = row(page, "qwen3:14b").getByRole("progressbar");
    await expect.poll(() => bar.getAttribute("aria-valuenow")).toBe("33");
    await page.getByText("2 min 30 s left").waitFor();
    await page.getByRole("button", { name: "Cancel: pull qwen3:14b on garage" }).click();
    await row(page, "qwen3:14b").getByRole("button", { name: "qwen3:14b on garage: absent" }).waitFor();
    expect((await tasksOf("garage"))[0]?.status).toBe("cancelled");
    expect(faults()).toEqual([]);
  });

  it("offers what the worker takes and what fits the model's state, and a viewer nothing", async () => {
    const { page } = await world.show("models");
    await page.getByRole("button", { name: "qwen3:14b on studio: loaded" }).click();
    const dialog = page.getByRole("dialog");
    await expect.poll(() => dialog.getByRole("button").allTextContents()).toEqual(["Not now", "Unload", "Delete"]);
    await dialog.getByRole("button", { name: "Not now" }).click();
    expect(await page.getByRole("button", { name: /on rack/ }).count()).toBe(0);
    const { key } = await world.call<{ key: string }>("POST", "/api/keys", { name: "viewer", role: "viewer" });
    const viewer = await world.visit(`/#key=${key}`);
    await viewer.page.getByText("Live", { exact: true }).waitFor();
    await viewer.page.goto(`${world.server.url}/#/models`);
    await viewer.page.getByRole("table", { name: "Models and workers" }).waitFor();
    expect(await viewer.page.getByRole("button", { name: /on studio|Place|Cancel/ }).count()).toBe(0);
    expect(viewer.faults()).toEqual([]);
  });

  it("says what waiting jobs ask for that nobody has, and where it has room, before it places it", async () => {
    for (let many = 0; many < 2; many += 1) await world.call("POST", "/api/jobs", { prompt: "x", model: "gemma3:4b" });
    const { page, faults } = await world.show("models");
    const wanted = page.locator(".panel", { hasText: "Jobs wait for models that no matching worker has" });
    await wanted.getByText("2 jobs wait").waitFor();
    await wanted.getByRole("button", { name: "Place: gemma3:4b" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Dry run" }).click();
    const plan = dialog.getByRole("status");
    await plan.getByText("gets it").waitFor();
    await plan.getByText(/rack: takes no model tasks/).waitFor();
    expect((await tasksOf("garage")).concat(await tasksOf("studio")).some(({ model }) => model === "gemma3:4b")).toBe(
      false,
    );
    await dialog.getByRole("button", { name: "Place", exact: true }).click();
    await page.getByText("1 worker got the task.").waitFor();
    await row(page, "gemma3:4b").getByText("pull queued").waitFor();
    expect(faults()).toEqual([]);
  });

  it("has every worker that tells of its models, beyond the two hundred of one read", async () => {
    const machine = { provider: "ollama", status: "idle", tags: "", loaded: [{ model: "small" }] };
    for (let at = 0; at < 205; at += 1) {
      const instance = `heap-${String(at).padStart(3, "0")}`;
      await world.call("POST", "/presence", { ...machine, instance });
    }
    await world.call("POST", "/presence", { instance: "heap-silent", provider: "ollama", status: "idle", tags: "" });
    const { page, faults } = await world.open("models?offset=204");
    await page.getByText("205–208 of 208 workers").waitFor();
    const heads = page.getByRole("table", { name: "Models and workers" }).getByRole("columnheader").getByRole("link");
    await expect.poll(() => heads.allTextContents()).toEqual(["heap-203", "heap-204", "rack", "studio"]);
    // Who has it is found without turning pages.
    await page.getByLabel("Find by name, provider, tag or model").fill("qwen3");
    await expect.poll(() => heads.allTextContents()).toEqual(["studio"]);
    await page.reload();
    await expect.poll(() => heads.allTextContents()).toEqual(["studio"]);
    await page.getByLabel("Find by name, provider, tag or model").fill("nobody");
    await page.getByText("No worker matches.").waitFor();
    expect(faults()).toEqual([]);
  }, 60_000);

  it("shows a worker that begins to tell of its models without a reload", async () => {
    const attic = { instance: "attic", provider: "ollama", status: "idle", tags: "", models: ["attic-model"] };
    await world.call("POST", "/presence", attic);
    const { page, faults } = await world.show("models");
    await page.getByRole("table", { name: "Models and workers" }).waitFor();
    const loaded = [{ model: "attic-model" }];
    await world.call("POST", "/presence", { ...attic, loaded, on_disk: [] });
    await row(page, "attic-model").waitFor({ timeout: 10_000 });
    await world.call("POST", "/presence", attic);
    await row(page, "attic-model").waitFor({ state: "detached", timeout: 10_000 });
    expect(faults()).toEqual([]);
  });
});

// The models of each kind of runtime, over its own API, as a server of a few lines speaks it.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { hardwareReader, readNvidia, readRocm } from "../../../worker/models/hardware.ts";
import type { ModelManager, ModelProgress, ModelWork } from "../../../worker/models/model-manager.ts";
import { openManager } from "../../../worker/models/open-manager.ts";
import { folderForEachTest } from "../../support/temporary-folder.ts";
import { type Answer, FakeRuntime, type RuntimeRequest } from "../runtimes/fake-runtime.ts";

const started: FakeRuntime[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(started.splice(0).map((one) => one.stop()));
});

type Paths = Readonly<Record<string, (asked: RuntimeRequest) => Answer>>;

const runtimeWith = async (name: string, paths: Paths, env: Record<string, string> = {}) => {
  const runtime = await new FakeRuntime(
    (asked) => paths[`${asked.method} ${asked.path}`]?.(asked) ?? { status: 404 },
  ).start();
  started.push(runtime);
  const manager = openManager({ name, address: runtime.url }, "secret", env);
  if (manager === null) throw new Error(`${name} is not managed`);
  return { runtime, manager };
};

const look = (manager: ModelManager) => manager.look(AbortSignal.timeout(5_000));

const work = async (manager: ModelManager, task: Partial<ModelWork>, largestBytes = Number.POSITIVE_INFINITY) => {
  const told: ModelProgress[] = [];
  const given: ModelWork = { action: "pull", model: "qwen3:8b", keep_alive: null, ...task };
  await manager.work(given, {
    signal: AbortSignal.timeout(5_000),
    onProgress: (progress) => told.push(progress),
    checkSize: (bytes) => {
      if (bytes > largestBytes) throw new Error("too large");
    },
  });
  return told;
};

const lines = (...messages: object[]): Answer => ({ body: messages.map((one) => `${JSON.stringify(one)}\n`).join("") });
const json = (body: unknown) => (): Answer => ({ body });

describe("Ollama", () => {
  const PULL = [
    { status: "pulling manifest", error: null },
    { status: "pulling a1", digest: "a1", total: 100 },
    { status: "pulling a1", digest: "a1", total: 100, completed: 60 },
    { status: "pulling b2", digest: "b2", total: 20, completed: 20 },
    { status: "verifying sha256 digest" },
    { status: "success" },
  ];

  test("tells what is on disk and in memory, and how many models its machine was set to hold", async () => {
    const expires = "2026-11-22T14:00:00.123456+02:00";
    const running = { models: [{ name: "qwen3:8b", size_vram: 5 * 2 ** 30, expires_at: expires }, { size_vram: 1 }] };
    const stored = {
      models: [
        { name: "qwen3:8b", size: 5_200_000_000 },
        { name: "gemma:2b", size: 1 },
      ],
    };
    const { manager, runtime } = await runtimeWith(
      "ollama",
      { "GET /api/ps": json(running), "GET /api/tags": json(stored) },
      { OLLAMA_MAX_LOADED_MODELS: "2" },
    );
    expect(await look(manager)).toEqual({
      loaded: [{ model: "qwen3:8b", vram_mb: 5120, expires_at: "2026-11-22T12:00:00.123Z" }],
      on_disk: [
        { model: "qwen3:8b", bytes: 5_200_000_000 },
        { model: "gemma:2b", bytes: 1 },
      ],
      max_loaded: 2,
      can: ["pull", "load", "unload", "delete"],
    });
    expect(runtime.asked[0]?.headers.authorization).toBe("Bearer secret");
  });

  test("pulls with the bytes of all layers together, up to success", async () => {
    const { manager, runtime } = await runtimeWith("ollama", { "POST /api/pull": () => lines(...PULL) });
    const told = await work(manager, {});
    expect(runtime.asked[0]?.body).toEqual({ model: "qwen3:8b", stream: true });
    expect(told.map(({ completed_bytes, total_bytes, stage }) => [completed_bytes, total_bytes, stage])).toEqual([
      [undefined, undefined, "pulling manifest"],
      [0, 100, "pulling a1"],
      [60, 100, "pulling a1"],
      [80, 120, "pulling b2"],
      [80, 120, "verifying sha256 digest"],
      [80, 120, "success"],
    ]);
  });

  test("an error is a line of an answer that went well, and an answer that stops is no success", async () => {
    const said = { error: "pull model manifest: file does not exist" };
    const { manager } = await runtimeWith("ollama", { "POST /api/pull": () => lines(...PULL.slice(0, 1), said) });
    await expect(work(manager, {})).rejects.toThrow("file does not exist");
    const cut = await runtimeWith("ollama", { "POST /api/pull": () => lines(...PULL.slice(0, 3)) });
    await expect(work(cut.manager, {})).rejects.toThrow("the pull ended at pulling a1");
  });

  test("a line without end stops the pull, and layers without end do not hold it up", async () => {
    const endless = { body: "x".repeat(2 * 1024 * 1024), hangs: true };
    const { manager } = await runtimeWith("ollama", { "POST /api/pull": () => endless });
    await expect(work(manager, {})).rejects.toThrow("a line without end");
    const layers = Array.from({ length: 20_000 }, (_, n) => ({ status: "pulling", digest: `d${n}`, total: 1 }));
    const many = await runtimeWith("ollama", { "POST /api/pull": () => lines(...layers, { status: "success" }) });
    expect((await work(many.manager, {})).at(-1)).toMatchObject({ total_bytes: 1_000, stage: "success" });
  });

  test("a pull that becomes larger than allowed stops", async () => {
    const { manager } = await runtimeWith("ollama", { "POST /api/pull": () => lines(...PULL) });
    await expect(work(manager, {}, 110)).rejects.toThrow("too large");
    await expect(work(manager, {}, 120)).resolves.toBeDefined();
  });

  test("loads and unloads by a request without a prompt, and deletes by name", async () => {
    const { manager, runtime } = await runtimeWith("ollama", {
      "POST /api/generate": json({ done: true }),
      "DELETE /api/delete": json({}),
    });
    await work(manager, { action: "load", keep_alive: "30m" });
    await work(manager, { action: "load" });
    await work(manager, { action: "unload" });
    await work(manager, { action: "delete" });
    const model = "qwen3:8b";
    expect(runtime.asked.map(({ body }) => body)).toEqual([
      { model, stream: false, keep_alive: "30m" },
      { model, stream: false },
      { model, stream: false, keep_alive: 0 },
      { model },
    ]);
  });

  test("loads a model for embeddings by an embedding", async () => {
    const { manager, runtime } = await runtimeWith("ollama", {
      "POST /api/generate": () => ({ status: 400, body: { error: '"nomic" does not support generate' } }),
      "POST /api/embed": json({}),
    });
    await work(manager, { action: "load", model: "nomic" });
    expect(runtime.asked.at(-1)?.body).toEqual({ model: "nomic", stream: false, input: "" });
    const failing = await runtimeWith("ollama", {
      "POST /api/generate": () => ({ status: 404, body: { error: "model 'x' not found" } }),
    });
    await expect(work(failing.manager, { action: "load" })).rejects.toThrow("model 'x' not found");
  });
});

describe("llama.cpp", () => {
  const listed = (...values: [string, string | null, boolean?][]) => ({
    data: values.map(([id, value, failed = false]) => ({
      id,
      ...(value === null ? {} : { status: { value, failed } }),
    })),
  });

  test("as a router tells which models are loaded, loads one and waits until it is", async () => {
    let looks = 0;
    const { manager, runtime } = await runtimeWith(
      "llamacpp",
      {
        "GET /models": () => ({
          body: listed(
            ["a", "loaded"],
            ["b", looks++ < 2 ? "loading" : "loaded"],
            ["c", "sleeping"],
            ["d", "unloaded"],
          ),
        }),
        "POST /models/load": json({ success: true }),
      },
      { LLAMA_ARG_MODELS_MAX: "4" },
    );
    expect(await look(manager)).toEqual({
      loaded: [{ model: "a" }, { model: "c" }],
      on_disk: null,
      max_loaded: 4,
      can: ["load", "unload"],
    });
    expect(await work(manager, { action: "load", model: "b" })).toEqual([{ stage: "loading" }]);
    expect(runtime.asked.find(({ method }) => method === "POST")?.body).toEqual({ model: "b" });
  });

  test("that cannot load a model, or has none of that name, says so", async () => {
    const { manager } = await runtimeWith("llamacpp", {
      "GET /models": json(listed(["a", "unloaded", true])),
      "POST /models/load": json({ success: true }),
    });
    await expect(work(manager, { action: "load", model: "a" })).rejects.toThrow("could not load a");
    await expect(work(manager, { action: "load", model: "b" })).rejects.toThrow("no model b");
  });

  test("that had to kill a model to unload it has unloaded it", async () => {
    let looks = 0;
    const { manager } = await runtimeWith("llamacpp", {
      "GET /models": () => ({ body: looks++ < 1 ? listed(["a", "loaded"]) : listed(["a", "unloaded", true]) }),
      "POST /models/unload": json({ success: true }),
    });
    expect(await work(manager, { action: "unload", model: "a" })).toEqual([{ stage: "loaded" }]);
  });

  test("of one model only tells it", async () => {
    const { manager } = await runtimeWith("llamacpp", { "GET /models": json(listed(["a", null])) });
    expect(await look(manager)).toEqual({ loaded: [{ model: "a" }], on_disk: null, max_loaded: 1, can: [] });
  });
});

describe("LM Studio", () => {
  const MODELS = {
    models: [
      { key: "qwen", size_bytes: 10, loaded_instances: [{ id: "qwen" }, { id: "qwen:2" }] },
      { key: "gemma", size_bytes: 20, loaded_instances: [] },
    ],
  };

  test("tells its models, loads one, and unloads all of its instances", async () => {
    const { manager, runtime } = await runtimeWith("lmstudio", {
      "GET /api/v1/models": json(MODELS),
      "POST /api/v1/models/load": json({ status: "loaded" }),
      "POST /api/v1/models/unload": json({}),
    });
    expect(await look(manager)).toEqual({
      loaded: [{ model: "qwen" }],
      on_disk: [
        { model: "qwen", bytes: 10 },
        { model: "gemma", bytes: 20 },
      ],
      max_loaded: null,
      can: ["pull", "load", "unload"],
    });
    await work(manager, { action: "load", model: "gemma" });
    await work(manager, { action: "unload", model: "qwen" });
    const posted = runtime.asked.filter(({ method }) => method === "POST").map(({ body }) => body);
    expect(posted).toEqual([{ model: "gemma" }, { instance_id: "qwen" }, { instance_id: "qwen:2" }]);
  });

  test("downloads until its job is completed", async () => {
    const at = (status: string, downloaded_bytes: number) => ({
      job_id: "j1",
      status,
      total_size_bytes: 10,
      downloaded_bytes,
      bytes_per_second: 5,
    });
    const { manager } = await runtimeWith("lmstudio", {
      "POST /api/v1/models/download": json(at("downloading", 2)),
      "GET /api/v1/models/download/status/j1": json(at("completed", 10)),
    });
    expect(await work(manager, {})).toEqual([
      { completed_bytes: 2, total_bytes: 10, bytes_per_second: 5, stage: "downloading" },
    ]);
    await expect(work(manager, {}, 9)).rejects.toThrow("too large");
  });

  test("of an older release only tells what is loaded", async () => {
    const data = [
      { id: "qwen", state: "loaded" },
      { id: "gemma", state: "not-loaded" },
    ];
    const { manager } = await runtimeWith("lmstudio", { "GET /api/v0/models": json({ data }) });
    expect(await look(manager)).toEqual({ loaded: [{ model: "qwen" }], on_disk: null, max_loaded: null, can: [] });
  });
});

describe("vLLM", () => {
  const SERVED = { "GET /v1/models": json({ data: [{ id: "qwen" }] }) };

  test("tells the model that it serves, and can do nothing with it", async () => {
    const { manager } = await runtimeWith("vllm", SERVED);
    expect(await look(manager)).toEqual({ loaded: [{ model: "qwen" }], on_disk: null, max_loaded: null, can: [] });
  });

  test("with its sleep mode, wakes it and sends it to sleep", async () => {
    const { manager, runtime } = await runtimeWith("vllm", {
      ...SERVED,
      "GET /is_sleeping": json({ is_sleeping: true }),
      "POST /wake_up": json({}),
      "POST /sleep?level=1": json({}),
    });
    expect(await look(manager)).toMatchObject({ loaded: [], can: ["load", "unload"] });
    await work(manager, { action: "load" });
    await work(manager, { action: "unload" });
    expect(runtime.asked.slice(-2).map(({ path }) => path)).toEqual(["/wake_up", "/sleep?level=1"]);
  });
});

describe("the machine's processors", () => {
  const folder = folderForEachTest();

  test.skipIf(process.platform === "win32")("are told again when their tool works again", async () => {
    vi.stubEnv("PATH", folder.path);
    const tool = path.join(folder.path, "nvidia-smi");
    const write = (script: string) => writeFileSync(tool, `#!/bin/sh\n${script}`, { mode: 0o755 });
    write("echo Driver/library version mismatch; exit 18");
    const read = hardwareReader();
    expect((await read()).gpus).toEqual([]);
    write("echo Tesla T4, 15360, 0, 3");
    expect((await read()).gpus).toEqual([{ name: "Tesla T4", total_mb: 15360, used_mb: 0, utilization: 3 }]);
  });

  test("are read as nvidia-smi tells them", () => {
    expect(readNvidia("NVIDIA GeForce RTX 4090, 24564, 1203, 7\nTesla T4, 15360, 0, [N/A]\n\nno card\n")).toEqual([
      { name: "NVIDIA GeForce RTX 4090", total_mb: 24564, used_mb: 1203, utilization: 7 },
      { name: "Tesla T4", total_mb: 15360, used_mb: 0 },
    ]);
  });

  test("are read as rocm-smi tells them", () => {
    const card = {
      "Card Series": "Radeon RX 7900 XTX",
      "GPU use (%)": "3",
      "VRAM Total Memory (B)": "25753026560",
      "VRAM Total Used Memory (B)": "29360128",
    };
    expect(readRocm(JSON.stringify({ card0: card, system: {} }))).toEqual([
      { name: "Radeon RX 7900 XTX", total_mb: 24560, used_mb: 28, utilization: 3 },
    ]);
    expect(readRocm("no JSON")).toEqual([]);
    const unknown = { ...card, "GPU use (%)": "65535" };
    expect(readRocm(JSON.stringify({ card0: unknown }))).toEqual([
      { name: "Radeon RX 7900 XTX", total_mb: 24560, used_mb: 28 },
    ]);
  });
});

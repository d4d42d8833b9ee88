// Fills a fresh tenant with a morning's work, by the calls that any client and worker makes: workers, finished, failed,
// running and waiting jobs.

import { setTimeout as pause } from "node:timers/promises";

export type Call = <Answer>(method: string, target: string, body?: unknown) => Promise<Answer>;

interface Lease {
  readonly id: string;
  readonly lease: number;
}

const FLEET = [
  { instance: "gpu-1", provider: "vllm", tags: "gpu,eu", models: ["qwen3-coder"], concurrency: 4 },
  { instance: "gpu-2", provider: "vllm", tags: "gpu,us", models: ["qwen3-coder"], concurrency: 4 },
  { instance: "laptop", provider: "ollama", tags: "eu", models: ["llama3.2"], concurrency: 1 },
  {
    instance: "cloud",
    provider: "openai",
    tags: "hosted",
    models: ["gpt-5-mini"],
    concurrency: 8,
    apis: ["chat/completions"],
  },
] as const;

const GB = 1_000_000_000;
const ACTIONS = ["pull", "load", "unload", "delete"];
const graphics = (name: string, total_mb: number, used_mb: number) => ({
  hardware: { gpus: [{ name, total_mb, used_mb }], ram_mb: 65_536, ram_free_mb: 30_000 },
});

/** What workers with a machine of their own report about it. */
const MACHINES: Readonly<Record<string, object>> = {
  "gpu-1": {
    ...graphics("A100", 81_920, 64_000),
    loaded: [{ model: "qwen3-coder", vram_mb: 62_000 }],
    on_disk: [{ model: "qwen3-coder", bytes: 61 * GB }],
  },
  "gpu-2": {
    ...graphics("RTX 4090", 24_576, 11_000),
    loaded: [{ model: "qwen3-coder", vram_mb: 9_800 }],
    on_disk: [
      { model: "qwen3-coder", bytes: 9.3 * GB },
      { model: "nomic-embed-text", bytes: 0.27 * GB },
    ],
    can: ACTIONS,
  },
  laptop: { loaded: [], on_disk: [{ model: "llama3.2", bytes: 2 * GB }], can: ACTIONS },
};

/** A rack of equal machines, of which some have something: what the fleet's grid is for. */
const RACK_SIZE = 96;
const REGIONS = ["eu-west", "us-east", "ap-south"];
const every = (nth: number, at: number): boolean => at % nth === nth - 1;

const nameInRack = (at: number): string => `rack-${String(at).padStart(2, "0")}`;

const fillRack = async (call: Call): Promise<void> => {
  for (let at = 0; at < RACK_SIZE; at += 1) {
    await call("POST", "/presence", {
      instance: nameInRack(at),
      provider: "llamacpp",
      tags: `region:${REGIONS[at % REGIONS.length]},rack`,
      models: ["gemma3:27b"],
      concurrency: 2,
      status: every(4, at) ? "busy" : "online",
      ...graphics("RTX 4090", 24_576, 4_000 + ((at * 1_700) % 20_000)),
      ...(every(17, at) ? { unavailable: "its runtime does not answer" } : {}),
    });
  }
};

const pauseSome = async (call: Call): Promise<void> => {
  for (let at = 0; at < RACK_SIZE; at += 1)
    if (every(13, at)) await call("POST", `/api/workers/${nameInRack(at)}/pause`, { reason: "its fan is replaced" });
};

const PROMPTS = [
  "Summarise the minutes of the board meeting.",
  "Translate the release notes into French.",
  "Which of these tickets describe the same fault?",
  "Write a test for the parser of dates.",
  "Name the parties to this contract.",
];
const USAGE = { input_tokens: 1_800, output_tokens: 420 };

const jobsFor = (models: readonly string[], count: number) =>
  Array.from({ length: count }, (_, at) => ({
    prompt: PROMPTS[at % PROMPTS.length],
    model: models[at % models.length],
    tags: at % 4 === 0 ? ["eu"] : [],
  }));

const present = async (call: Call): Promise<void> => {
  for (const offer of FLEET)
    await call("POST", "/presence", { ...offer, ...MACHINES[offer.instance], status: "online" });
};

const claimed = async (call: Call, instance: string): Promise<Lease[]> =>
  (await call<{ jobs: Lease[] }>("POST", `/api/workers/${instance}/claim`, { max: 8 })).jobs;

const start = (call: Call, { id, lease }: Lease): Promise<unknown> => call("POST", `/api/jobs/${id}/start`, { lease });

const end = async (call: Call, { id, lease }: Lease, hasFailed: boolean): Promise<void> => {
  const error = { code: "context_length", message: "the prompt is longer than the model's context", status: 400 };
  if (hasFailed) await call("POST", `/api/jobs/${id}/fail`, { lease, error, usage: USAGE });
  else await call("POST", `/api/jobs/${id}/complete`, { lease, result: { text: "Done." }, usage: USAGE });
};

const LINES = 300;

/** Two files of requests: one for a model that works on it, one for a model that nobody has. */
const sendBatches = async (call: Call): Promise<void> => {
  for (const [name, model] of [
    ["Product texts in twelve languages", "mistral-large"],
    ["Tickets of October, summarised", "gpt-5-mini"],
  ] as const) {
    const lines = Array.from({ length: LINES }, (_, at) => ({
      custom_id: `line-${at}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model, messages: [{ role: "user", content: PROMPTS[at % PROMPTS.length] }] },
    }));
    const text = lines.map((line) => JSON.stringify(line)).join("\n");
    const { id } = await call<{ id: string }>("POST", "/api/files?name=requests.jsonl&purpose=batch", text);
    const asked = { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    await call("POST", "/v1/batches", { ...asked, metadata: { name } });
  }
};

const MINUTE_MS = 60_000;
const TICK_MS = 1_000;
const PRESENT_EVERY_TICKS = 10;
/** How long each worker of the fleet takes for a job. */
const TAKES_MS: Readonly<Record<(typeof FLEET)[number]["instance"], number>> = {
  "gpu-1": 6_000,
  "gpu-2": 8_000,
  laptop: 3_000,
  cloud: 6_000,
};
/** About two thirds of a file's lines are answered by the end. */
const BATCHES_MINUTES = 3;
/** Jobs a minute come and go in waves, some of which are more than the laptop can take. */
const arrivalsAt = (minute: number): number =>
  55 + 30 * Math.sin(minute / 5) + 15 * Math.sin(minute / 1.7) + 8 * Math.sin(minute * 2.3);
/** For some minutes more fail. */
const failsOneOf = (minute: number): number => (minute % 40 > 22 && minute % 40 < 28 ? 5 : 60);

/** Has the fleet work for some minutes, so that there is something to see over time. */
const workFor = async (call: Call, minutes: number): Promise<void> => {
  const models = FLEET.map(({ models: [model] }) => model);
  const endings: Promise<void>[] = [];
  const startedAt = Date.now();
  const batchesAt = startedAt + (minutes - BATCHES_MINUTES) * MINUTE_MS;
  let hasBatches = false;
  let due = 0;
  let made = 0;
  const work = async (lease: Lease, takesMs: number, hasFailed: boolean): Promise<void> => {
    await start(call, lease);
    await pause(takesMs * (0.6 + 0.8 * Math.random()));
    await end(call, lease, hasFailed);
  };
  for (let tick = 0; Date.now() < startedAt + minutes * MINUTE_MS; tick += 1) {
    const minute = (Date.now() - startedAt) / MINUTE_MS;
    if (tick % PRESENT_EVERY_TICKS === 0) await Promise.all([present(call), fillRack(call)]);
    if (!hasBatches && Date.now() >= batchesAt) {
      hasBatches = true;
      await sendBatches(call);
    }
    due += (arrivalsAt(minute) * TICK_MS) / MINUTE_MS;
    const jobs = jobsFor(models, made + Math.floor(due)).slice(made);
    if (jobs.length > 0) await call("POST", "/api/jobs/batch", { jobs });
    made += jobs.length;
    due -= jobs.length;
    for (const { instance } of FLEET)
      for (const lease of await claimed(call, instance))
        endings.push(work(lease, TAKES_MS[instance], Math.random() < 1 / failsOneOf(minute)));
    await pause(TICK_MS);
  }
  await Promise.all(endings);
};

/** A pull that is half done, and jobs for a model that nobody has. */
const manageModels = async (call: Call): Promise<void> => {
  const asked = { action: "pull", model: "qwen3:14b" };
  const { task } = await call<{ task: { id: string } }>("POST", "/api/workers/gpu-2/models", asked);
  const sizes = { completed_bytes: 3.9 * GB, total_bytes: 9.3 * GB, bytes_per_second: 42_000_000 };
  await call("POST", `/api/model-tasks/${task.id}/progress`, { stage: "pulling", ...sizes });
  await call("POST", "/api/jobs/batch", { jobs: jobsFor(["deepseek-r1:70b"], 7) });
};

const STORY =
  "A signal box holds the **levers** of a junction.\n\n- Home signals protect the points\n- Distant signals warn the driver";

/** A job that failed once, and then answered. */
const tellStory = async (call: Call): Promise<string> => {
  const asked = { prompt: "What is a signal box?", provider: "vllm", tags: ["eu"] };
  const { id, lease } = await call<Lease>("POST", "/dispatch", asked);
  await call("POST", `/api/jobs/${id}/start`, { lease });
  const error = { code: "runtime_unreachable", message: "the runtime broke off", retryable: true };
  await call("POST", `/api/jobs/${id}/fail`, { lease, error });
  for (let again: Lease | undefined; again === undefined; ) {
    again = (await claimed(call, "gpu-1")).find((one) => one.id === id);
    if (again === undefined) continue;
    await call("POST", `/api/jobs/${id}/start`, { lease: again.lease });
    const done = { result: { text: STORY }, usage: USAGE, first_token_ms: 180 };
    await call("POST", `/api/jobs/${id}/complete`, { lease: again.lease, ...done });
  }
  return id;
};

/** Works for some minutes first. Answers the id of the job whose story is shown. */
export const fillTenant = async (call: Call, minutes: number): Promise<string> => {
  await call("PUT", "/config", { budget: { day_usd: 2 } });
  await present(call);
  await fillRack(call);
  await workFor(call, minutes);
  await pauseSome(call);
  const story = await tellStory(call);
  const models = FLEET.map(({ models: [model] }) => model);
  await manageModels(call);
  await call("POST", "/api/jobs/batch", { jobs: jobsFor(models, 12) });
  for (const { instance } of FLEET) {
    for (const { id, lease } of (await claimed(call, instance)).slice(0, 3))
      await call("POST", `/api/jobs/${id}/start`, { lease });
  }
  await call("POST", "/api/jobs/batch", { jobs: PROMPTS.map((prompt) => ({ prompt, tags: ["h100"] })) });
  return story;
};
